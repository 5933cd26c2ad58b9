"""OpenTelemetry's variables, and missing packages."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prefect_swarm.tracing import is_traced, span, spans

VARIABLES = (
    "OTEL_SDK_DISABLED",
    "OTEL_TRACES_EXPORTER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
)


@pytest.fixture(autouse=True)
def fresh_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variables, and nothing asked for yet."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(spans, "_made", spans._MadeOnce())


class Collector(ThreadingHTTPServer):
    """Takes spans as a collector does; answers once `release` is set, with `status`."""

    daemon_threads = True

    def __init__(self, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.requests: list[tuple[str, ExportTraceServiceRequest]] = []
        self.asked, self.release = threading.Event(), threading.Event()
        self.release.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def names(self) -> list[str]:
        return [
            span.name
            for _, request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        collector = self.server
        assert isinstance(collector, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        collector.requests.append((self.path, request))
        collector.asked.set()
        collector.release.wait(60)
        self.send_response(collector.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        pass


@contextmanager
def listening(status: int = 200) -> Generator[Collector]:
    with Collector(status) as collector:
        thread = threading.Thread(target=collector.serve_forever, daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            collector.release.set()
            collector.shutdown()
            thread.join()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with listening() as listener:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", listener.url)
        yield listener


@pytest.mark.parametrize(
    ("variables", "exporter"),
    [
        ({}, ""),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, ""),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "Console"}, "console"),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, ""),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}, ""),
    ],
)
def test_variables_say_which_exporter_is_wanted(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], exporter: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert spans.wanted_exporter() == exporter


def test_nothing_is_traced_where_nothing_is_configured() -> None:
    with span("run", {}) as current:
        assert not is_traced()
        assert not current.is_recording()


def test_spans_arrive_at_the_collector_that_the_environment_names(collector: Collector) -> None:
    with span("run", {"n": 1}), span("step", {}):
        pass
    spans.flush()
    assert sorted(collector.names) == ["run", "step"]
    assert {path for path, _ in collector.requests} == {"/v1/traces"}
    resource = collector.requests[0][1].resource_spans[0].resource
    names = {pair.key: pair.value.string_value for pair in resource.attributes}
    assert names["service.name"] == "prefect-swarm"


def test_a_service_keeps_the_name_that_it_is_given(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    with span("run", {}):
        pass
    spans.flush()
    resource = collector.requests[0][1].resource_spans[0].resource
    assert "mine" in {pair.value.string_value for pair in resource.attributes}


def test_a_collector_that_never_answers_is_named_and_not_waited_for(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.release.clear()
    with span("run", {}):
        pass
    assert spans._made.exporting is not None
    spans._made.exporting.flush(0.01)
    # It would wait forever if it waited: only now the collector may answer.
    assert f"Traces can't be delivered to {collector.url}" in caplog.text
    collector.release.set()
    assert collector.asked.wait(60)


def test_a_failing_collector_is_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with listening(status=400) as refusing:
        port = refusing.server_address[1]
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:word@127.0.0.1:{port}")
        for name in ("run", "step"):
            with span(name, {}):
                pass
            assert spans._made.exporting is not None
            spans._made.exporting._processor.force_flush()
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert warnings == [
        f"Traces can't be delivered to {refusing.url}; the run goes on without them."
    ]


def test_missing_packages_are_named_once(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(sys.modules, "prefect_swarm.tracing.exporting", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    for _ in range(2):
        with span("run", {}) as current:
            assert not current.is_recording()
    assert [record.getMessage().count("prefect-swarm[traces]") for record in caplog.records] == [1]


@pytest.mark.parametrize(
    "variables",
    [{"OTEL_TRACES_EXPORTER": "zipkin"}, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}],
)
def test_an_exporter_that_is_not_known_is_named(
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    variables: dict[str, str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert not is_traced()
    assert "is not known here" in caplog.text
