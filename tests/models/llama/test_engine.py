"""An engine serves any task of any event loop, and outlives whatever goes wrong."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from prefect_swarm.errors import ContextTooSmallError, InputError, ModelError
from prefect_swarm.models.llama.api import EngineConfig, GeneratedText, GenerateRequest, Message
from prefect_swarm.models.llama.engine import Engine, get_engine

pytestmark = pytest.mark.model


@pytest.fixture
def engine(demo_path: Path, config: EngineConfig) -> Engine:
    return get_engine(demo_path, config)


def ask(text: str, max_tokens: int = 6) -> GenerateRequest:
    return GenerateRequest(messages=(Message("user", text),), max_tokens=max_tokens, temperature=0)


def test_a_file_and_a_configuration_have_one_engine(
    demo_path: Path, tmp_path: Path, config: EngineConfig
) -> None:
    link = tmp_path / "model.gguf"
    link.symlink_to(demo_path)
    assert get_engine(link, config) is get_engine(demo_path, config)
    assert get_engine(demo_path, EngineConfig(n_ctx=256)) is not get_engine(demo_path, config)


def test_a_question_is_answered_in_the_models_own_chat_format(engine: Engine) -> None:
    answer = asyncio.run(engine.generate(ask("What is 1 + 1? Give the number.", 40)))
    assert "2" in answer.text
    assert answer.finish == "stop"
    assert answer.queue_s >= 0
    assert answer.duration_s > 0


def test_a_repeat_penalty_keeps_free_text_from_going_round_in_circles(engine: Engine) -> None:
    async def distinct(penalty: float) -> float:
        """Share of the words that were not said before; free text of a small model repeats."""
        question = Message("user", "Describe trains as a way to travel")
        request = GenerateRequest(
            messages=(question,), max_tokens=120, temperature=0, repeat_penalty=penalty
        )
        words = (await engine.generate(request)).text.split()
        return len(set(words)) / len(words)

    assert asyncio.run(distinct(1.3)) > asyncio.run(distinct(1.0))


def test_concurrent_requests_each_get_their_own_answer(engine: Engine) -> None:
    async def main() -> list[GeneratedText]:
        return await asyncio.gather(*(engine.generate(letters(char)) for char in "bcdfg"))

    assert [answer.text for answer in asyncio.run(main())] == ["bbb", "ccc", "ddd", "fff", "ggg"]


def test_several_event_loops_use_one_engine_at_once(engine: Engine) -> None:
    answers: dict[str, str] = {}

    def serve(char: str) -> None:
        answers[char] = asyncio.run(engine.generate(letters(char))).text

    threads = [threading.Thread(target=serve, args=(char,)) for char in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {"x": "xxx", "y": "yyy", "z": "zzz"}


def test_cancelling_the_task_frees_the_engine_for_the_next(engine: Engine) -> None:
    endless = GenerateRequest(prompt="a", max_tokens=500, grammar='root ::= "a" root')

    async def main() -> str:
        tasks = [asyncio.create_task(engine.generate(endless)) for _ in range(4)]
        answered = asyncio.create_task(engine.generate(letters("q")))
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        return (await answered).text

    assert asyncio.run(main()) == "qqq"


def test_a_refused_request_leaves_the_engine_as_it_was(engine: Engine) -> None:
    with pytest.raises(ContextTooSmallError):
        asyncio.run(engine.generate(ask("word " * 1000)))
    with pytest.raises(InputError, match="grammar"):
        asyncio.run(
            engine.generate(GenerateRequest(prompt="x", max_tokens=9, grammar="root ::= ("))
        )
    assert asyncio.run(engine.generate(letters("r"))).text == "rrr"


def test_a_file_that_llama_cpp_refuses_is_an_error_without_its_log(
    demo_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.gguf"
    with demo_path.open("rb") as file:
        path.write_bytes(file.read(8_000_000))
    with path.open("r+b") as file:
        file.truncate(demo_path.stat().st_size - 1)  # The last tensor lacks its last byte.
    engine = get_engine(path)
    for _ in range(2):
        with pytest.raises(ModelError, match="not within the file bounds") as caught:
            asyncio.run(engine.generate(ask("Hello")))
        assert str(path) in caught.value.problem
    assert capfd.readouterr() == ("", "")


def test_a_closed_engine_says_so(demo_path: Path) -> None:
    engine = Engine(demo_path, EngineConfig(n_ctx=64, n_slots=1))
    engine.close()
    with pytest.raises(ModelError, match="was closed"):
        asyncio.run(engine.generate(ask("Hello")))


def test_closing_answers_what_is_under_way(demo_path: Path) -> None:
    engine = Engine(demo_path, EngineConfig(n_ctx=256, n_slots=1))

    async def main() -> None:
        endless = GenerateRequest(prompt="a", max_tokens=200, grammar='root ::= "a" root')
        tasks = [asyncio.create_task(engine.generate(endless)) for _ in range(2)]
        await asyncio.sleep(0)
        await asyncio.to_thread(engine.close)
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(outcome, ModelError) for outcome in outcomes)

    asyncio.run(main())


BUSY = """
import asyncio, os, sys, threading
from prefect_swarm.models.llama import EngineConfig, GenerateRequest, demo_model_path, get_engine

def ask(text, max_tokens, grammar=None):
    engine = get_engine(demo_model_path(), EngineConfig(n_ctx=512, n_slots=2))
    request = GenerateRequest(prompt=text, max_tokens=max_tokens, grammar=grammar)
    return asyncio.run(engine.generate(request))

def endless():
    try:
        ask("a", 500, 'root ::= "a" root')
    except Exception:
        pass

threading.Thread(target=endless, daemon=True).start()
ask("Another one, so that the first is under way.", 3)
"""


def test_a_process_ends_cleanly_while_a_request_is_under_way() -> None:
    done = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_child_has_engines_of_its_own() -> None:
    fork = """
child = os.fork()
if child == 0:
    os._exit(40 + ask("In the child.", 2).output_tokens)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    # Python 3.12 and later warn of any fork in a process that has threads.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BUSY + fork]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (42, "")


def test_an_answer_is_the_same_with_any_count_of_threads(demo_path: Path) -> None:
    request = GenerateRequest(prompt="Once upon a time", max_tokens=24, temperature=0)

    def answer(n_threads: int) -> str:
        engine = Engine(demo_path, EngineConfig(n_ctx=128, n_slots=1, n_threads=n_threads))
        try:
            return asyncio.run(engine.generate(request)).text
        finally:
            engine.close()

    assert answer(1) == answer(2)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prompt": "a", "messages": (Message("user", "b"),)},
        {"prompt": "a", "max_tokens": 0},
        {"prompt": "a", "temperature": -1},
        {"prompt": "a", "temperature": float("nan")},
        {"prompt": "a", "top_p": 0},
        {"prompt": "a", "top_k": -1},
        {"prompt": "a", "repeat_penalty": 0.5},
    ],
)
def test_a_senseless_request_cannot_be_made(fields: dict[str, object]) -> None:
    with pytest.raises(InputError):
        GenerateRequest(**fields)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("field", ["n_ctx", "n_slots", "n_threads"])
def test_a_senseless_configuration_cannot_be_made(field: str) -> None:
    with pytest.raises(InputError, match=field):
        EngineConfig(**{field: 0})  # pyright: ignore[reportArgumentType]


def letters(char: str) -> GenerateRequest:
    grammar = f'root ::= "{char}{char}{char}"'
    return GenerateRequest(prompt="Letters:", max_tokens=8, grammar=grammar)
