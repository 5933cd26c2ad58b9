"""A run's spans: what there is, who is whose child, and what they tell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flow_runs import plan_of, run
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from recorded_spans import recording, tree_of
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    with recording() as exporter:
        yield exporter


def test_steps_attempts_requests_and_gates_are_below_their_run(
    spans: InMemorySpanExporter,
) -> None:
    with scripted(Script(lambda prompt: f"about {prompt}")):
        run(plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]}))
    made = ["    attempt 1", "      invoke_agent Reader", "        chat scripted"]
    gate = "      gate repetition"
    assert tree_of(spans.get_finished_spans()) == [
        "run",
        *("  step S1", *made, gate),
        *("  step S2", *made, gate),
    ]
