"""A server whose certificate is of an own CA is named with the setting that its client reads."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from answering_server import Fixed, OwnCa, answering_server
from flow_runs import plan_of
from prefect_swarm import SwarmOptions, swarm
from prefect_swarm.cli.doctor.checks import check_mcp
from prefect_swarm.errors import InputError, ToolsetError, UnavailableError
from prefect_swarm.host.network import certificate_problem, check_ca_files
from prefect_swarm.models.limiter import fault_of
from prefect_swarm.models.resolve import refusal
from prefect_swarm.toolsets.mcp.configuration import read_servers
from prefect_swarm.toolsets.mcp.oauth import log_in
from prefect_swarm.toolsets.mcp.owner import ServerOwner
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

WHY = "unable to get local issuer certificate"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> OwnCa:
    return OwnCa.make(tmp_path_factory.mktemp("ca"))


def completion(text: str) -> Fixed:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Fixed(200, json.dumps(body))


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_a_providers_is_named_at_once_and_taken_with_the_setting(
    own: OwnCa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    plan = plan_of({"id": "S1"})
    with answering_server(completion("Read."), own) as server:
        options = SwarmOptions(model=f"openai:m@{server.url}/v1", stream_text=False)
        with pytest.raises(UnavailableError, match=WHY) as failure:
            asyncio.run(swarm(plan.objective, plan=plan, options=options))
        assert server.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(own.ca))
        result = asyncio.run(swarm(plan.objective, plan=plan, options=options))
    assert "SSL_CERT_FILE" in failure.value.fix
    assert result.answer == "Read."


def test_a_request_is_not_sent_again_to_it(own: OwnCa, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(url: str) -> ModelConnectionError:
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=f"{url}/v1"))
        with pytest.raises(ModelConnectionError) as failure:
            await model_request(model, [ModelRequest.user_text_prompt("x")])
        shown = refusal(model, failure.value)
        assert f"the certificate of its server isn't accepted: {WHY}" in shown.problem
        assert "SSL_CERT_FILE" in shown.fix
        return failure.value

    with answering_server(completion("Read."), own) as server:
        error = asyncio.run(ask(server.url))
    fault = fault_of(error)
    assert fault is not None
    assert (fault.kind, fault.why) == ("denied", "certificate not accepted")


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_an_mcp_servers_is_named(kind: str, own: OwnCa) -> None:
    async def ask(url: str) -> None:
        text = json.dumps({"mcpServers": {"shop": {"url": f"{url}/mcp", "type": kind}}})
        (endpoint,) = read_servers(text, {}, "the test")
        owner = ServerOwner(endpoint, at_once=1)
        try:
            await owner.tools(20)
        finally:
            await owner.close()

    with answering_server(Fixed(), own) as server, pytest.raises(ToolsetError) as failure:
        asyncio.run(ask(server.url))
    assert WHY in failure.value.problem
    assert "SSL_CERT_FILE" in failure.value.fix


def test_an_mcp_servers_is_named_by_doctor_and_where_a_person_logs_in(
    own: OwnCa, tmp_path: Path
) -> None:
    async def show(_: str) -> None:
        raise AssertionError("nothing is shown")

    path = tmp_path / "tools.json"
    with answering_server(Fixed(), own) as server:
        entry = {"url": f"{server.url}/mcp"}
        path.write_text(json.dumps({"mcpServers": {"shop": entry}}))
        [check] = check_mcp(SwarmOptions(mcp=str(path)))
        (endpoint,) = read_servers(path.read_text(), {}, "the test")
        with pytest.raises(ToolsetError, match=WHY) as failure:
            asyncio.run(log_in(endpoint, show))
    assert WHY in check.detail
    assert "SSL_CERT_FILE" in check.fix
    assert "SSL_CERT_FILE" in failure.value.fix


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "PREFECT_API_SSL_CERT_FILE"])
def test_a_file_of_certificates_that_can_not_be_read_is_named(
    name: str, own: OwnCa, tmp_path: Path
) -> None:
    (empty := tmp_path / "empty.pem").write_text("no certificate")
    check_ca_files({name: str(own.ca)})
    check_ca_files({name: ""})
    for path, why in ((tmp_path / "gone", "No such file"), (empty, "it has no certificate")):
        with pytest.raises(InputError, match=f"{name} names {path}, which can't be read: {why}"):
            check_ca_files({name: str(path)})


def test_it_is_found_in_what_an_error_was_raised_from() -> None:
    inner = ssl.SSLCertVerificationError("no")
    inner.verify_message = "self-signed certificate"
    outer = ExceptionGroup("several", [ValueError("x"), RuntimeError("y")])
    outer.exceptions[1].__cause__ = inner
    assert certificate_problem(outer) == "self-signed certificate"


def test_it_is_found_in_words_alone() -> None:
    words = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: expired (_ssl.c:1006)"
    assert certificate_problem(OSError(words)) == "certificate verify failed: expired"


def test_another_error_is_none() -> None:
    assert certificate_problem(OSError("connection refused")) == ""


def test_a_missing_file_is_said_before_prefect_fails_for_it(swarm_home: Path) -> None:
    code = "import sys; sys.argv[1:] = ['run', 'x']; from prefect_swarm.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SSL_CERT_FILE": str(swarm_home / "gone.pem")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert f"SSL_CERT_FILE names {swarm_home / 'gone.pem'}, which can't be read" in done.stderr
    assert "Traceback" not in done.stderr
