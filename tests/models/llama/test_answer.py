"""Processes of a machine ask the server that has the file loaded, and get the same answers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from adapters import write_adapter
from prefect_swarm.errors import ContextTooSmallError, InputError
from prefect_swarm.models.llama import served as answers
from prefect_swarm.models.llama.api import EngineConfig, GeneratedText, GenerateRequest, Message
from prefect_swarm.models.llama.engine import get_engine
from prefect_swarm.models.llama.served import answer, new_record
from served_models import Served, serving

pytestmark = pytest.mark.model

CONFIG = EngineConfig(n_ctx=512, n_slots=2, n_threads=1)
BEES = GenerateRequest((Message("user", "What do bees do?"),), temperature=0, max_tokens=20)
ENDLESS = replace(BEES, max_tokens=400, grammar='root ::= "a" root')

CLIENT = """
import asyncio, sys
from prefect_swarm.models.llama import EngineConfig, demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel, LlamaCppSettings
from pydantic_ai import Agent

model = LlamaCppModel(demo_model_path(), config=EngineConfig(n_ctx=512, n_threads=1))
settings = LlamaCppSettings(temperature=0, max_tokens=20)
print(asyncio.run(Agent(model).run("What do bees do?", model_settings=settings)).output)
assert "llama_cpp" not in sys.modules, "the client loaded llama.cpp"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("served")
    with serving(home, "--n-ctx", 512, "--n-slots", 2, "--n-threads", 1) as served:
        yield served


@pytest.fixture
def shared(server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The server, found by this process, which refuses to compute itself."""
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(server.home))
    monkeypatch.setattr(answers, "get_engine", _refuse)
    return server


def _refuse(*_: Any) -> Any:
    raise AssertionError("it was asked in this process")


def here(path: Path, request: GenerateRequest, config: EngineConfig = CONFIG) -> GeneratedText:
    return asyncio.run(get_engine(path, config).generate(request))


def elsewhere(path: Path, request: GenerateRequest, config: EngineConfig = CONFIG) -> GeneratedText:
    return asyncio.run(answer(path.resolve(), config, request))


def same(first: GeneratedText, second: GeneratedText) -> bool:
    def what(text: GeneratedText) -> object:
        return text.text, text.input_tokens, text.output_tokens, text.finish, text.why

    return what(first) == what(second)


@pytest.mark.parametrize(
    "request_",
    [
        BEES,
        replace(BEES, temperature=1.0, seed=7),
        replace(BEES, temperature=1.0),
        replace(BEES, grammar='root ::= "yes" | "no"'),
        replace(BEES, begun="They make", stop=("o",)),
        GenerateRequest(prompt="Once upon", temperature=0, max_tokens=8),
    ],
    ids=["greedy", "seed", "the engine's seed", "grammar", "begun and stop", "prompt"],
)
def test_a_server_answers_as_this_process_would(
    demo_path: Path, shared: Served, request_: GenerateRequest
) -> None:
    assert same(elsewhere(demo_path, request_), here(demo_path, request_))


def test_an_adapter_is_applied_there(demo_path: Path, shared: Served, tmp_path: Path) -> None:
    config = replace(CONFIG, adapter=write_adapter(tmp_path / "a.gguf").resolve())
    adapted = elsewhere(demo_path, BEES, config)
    assert same(adapted, here(demo_path, BEES, replace(config, deterministic=True)))
    assert adapted.text != elsewhere(demo_path, BEES).text


def test_text_comes_in_pieces(demo_path: Path, shared: Served) -> None:
    pieces: list[str] = []
    started: list[tuple[int, int]] = []

    def begin(read: int, cached: int) -> None:
        started.append((read, cached))

    request = replace(BEES, on_text=pieces.append, on_start=begin)
    done = elsewhere(demo_path, request)
    assert "".join(pieces) == done.text
    assert len(pieces) > 5
    assert started == [(done.input_tokens, done.cached_tokens)]


def on_second_look() -> Callable[[str], str]:
    texts: list[str] = []

    def watch(text: str) -> str:
        texts.append(text)
        return "long" if len(texts) == 2 else ""

    return watch


def test_a_watch_of_this_process_stops_it_at_the_same_place(
    demo_path: Path, shared: Served
) -> None:
    request = replace(ENDLESS, watch=on_second_look(), stop=("bbb",))
    stopped = elsewhere(demo_path, request)
    assert same(stopped, here(demo_path, replace(request, watch=on_second_look())))
    assert (stopped.finish, stopped.why, stopped.output_tokens) == ("aborted", "long", 32)
    shared.wait_for("requests_running", lambda count: count == 0)


async def _cancelled(path: Path) -> None:
    begun = asyncio.Event()

    def begin(_: str) -> None:
        begun.set()

    request = replace(ENDLESS, on_text=begin)
    task = asyncio.ensure_future(answer(path, CONFIG, request))
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])


def test_a_request_without_a_reader_frees_its_slot(demo_path: Path, shared: Served) -> None:
    left = shared.metric('requests_total{outcome="disconnected"}')
    asyncio.run(_cancelled(demo_path.resolve()))
    shared.wait_for('requests_total{outcome="disconnected"}', lambda count: count > left)


def test_errors_are_the_engines(demo_path: Path, shared: Served) -> None:
    with pytest.raises(ContextTooSmallError):
        elsewhere(demo_path, replace(BEES, max_tokens=600))
    with pytest.raises(InputError):
        elsewhere(demo_path, replace(BEES, grammar="root ::= ("))


def test_a_request_of_another_version_is_declined_and_needs_the_token(shared: Served) -> None:
    (file,) = (shared.home / "served").iterdir()
    body = {"request": {"prompt": "x", "of_another_version": 1}}
    assert shared.post("/engine/generate", body).status_code == 401
    shared.key = json.loads(file.read_text())["token"]
    try:
        assert list(shared.post("/engine/generate", body).json()) == ["declined"]
    finally:
        shared.key = None


def test_two_processes_share_one_loaded_file(demo_path: Path, shared: Served) -> None:
    environment = {**os.environ, "PREFECT_INTEGRATIONS_SWARM_HOME": str(shared.home)}
    before = shared.metric('requests_total{outcome="completed"}')
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT], stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(2)
    ]
    texts = [client.communicate(timeout=120)[0] for client in clients]
    assert [client.returncode for client in clients] == [0, 0]
    assert shared.metric('requests_total{outcome="completed"}') == before + 2
    assert texts == [here(demo_path, BEES).text + "\n"] * 2


def test_the_setting_turns_it_off(
    demo_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(server.home))
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_SERVED_MODELS", "false")
    before = server.metric('requests_total{outcome="completed"}')
    assert elsewhere(demo_path, BEES).text
    assert server.metric('requests_total{outcome="completed"}') == before


@pytest.mark.parametrize("kill", [True, False])
def test_a_server_that_goes_away_in_the_middle_loses_nothing(
    demo_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kill: bool,
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(tmp_path))
    pieces: list[str] = []
    request = replace(BEES, max_tokens=48, grammar="root ::= [ab] root")
    with serving(tmp_path, "--n-ctx", 512, "--n-threads", 1) as served:

        def end_it(piece: str) -> None:
            if not pieces:
                served.process.kill() if kill else served.process.terminate()
            pieces.append(piece)

        with caplog.at_level(logging.WARNING, "prefect_swarm.llama"):
            done = elsewhere(demo_path, replace(request, on_text=end_it))
    assert same(done, here(demo_path, request))
    assert "".join(pieces) == done.text
    (line,) = [record for record in caplog.records if "went away" in record.message]
    assert "asked in this process" in line.message


class _Impostor(BaseHTTPRequestHandler):
    """Answers whatever it is asked, and keeps what it was sent."""

    heard: list[bytes]

    def do_POST(self) -> None:
        self.heard.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"trust me")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass


def test_another_program_at_the_address_gets_no_text(
    demo_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(tmp_path))
    _Impostor.heard = []
    with HTTPServer(("127.0.0.1", 0), _Impostor) as impostor:
        threading.Thread(target=impostor.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{impostor.server_port}"
        record = new_record(demo_path.resolve(), address, CONFIG)
        record = record.model_copy(update={"pid": os.getppid()})
        (folder := tmp_path / "served").mkdir()
        (folder / "1.json").write_text(record.model_dump_json())
        assert elsewhere(demo_path, BEES).text == here(demo_path, BEES).text
        impostor.shutdown()
    assert [list(json.loads(body)) for body in _Impostor.heard] == [["challenge"]]
    assert record.token.encode() not in b"".join(_Impostor.heard)
