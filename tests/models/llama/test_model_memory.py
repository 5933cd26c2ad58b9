"""Engines whose models don't fit together take turns, and each request is answered."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.errors import ModelError
from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest, Message
from prefect_swarm.models.llama.engine import Engine, close_engines
from prefect_swarm.models.llama.residency import MemoryUse, MemoryUser, ModelMemory, model_memory
from prefect_swarm.models.llama.sizing import BUDGET_VARIABLE

CONFIG = EngineConfig(n_ctx=256, n_slots=2)


@pytest.fixture
def engines(demo_path: Path, tmp_path: Path) -> Iterator[list[Engine]]:
    """Two files with the embedded model, which share no weights."""
    close_engines()
    copy = tmp_path / "copy.gguf"
    shutil.copyfile(demo_path, copy)
    found = [Engine(demo_path, CONFIG), Engine(copy, CONFIG)]
    yield found
    for engine in found:
        engine.close()


def user(name: str, size: int, *, pinned: bool = False) -> MemoryUser:
    asked: list[str] = []
    return MemoryUser(
        name, name, MemoryUse(size, 0), ask_to_leave=lambda: asked.append(name), pinned=pinned
    )


def names(memory: ModelMemory) -> list[str]:
    return [resident.name for resident in memory.residents()]


def letters(char: str) -> GenerateRequest:
    grammar = f'root ::= "{char}{char}{char}"'
    return GenerateRequest(prompt="Letters:", max_tokens=8, grammar=grammar)


def answer(engine: Engine, char: str) -> str:
    return asyncio.run(engine.generate(letters(char))).text


def test_what_fits_beside_the_others_enters_at_once() -> None:
    memory = ModelMemory(lambda: 10)
    assert memory.enter(user("a", 4))
    assert memory.enter(user("b", 6))
    assert names(memory) == ["a", "b"]


def test_what_does_not_fit_alone_is_refused_with_the_figures() -> None:
    memory = ModelMemory(lambda: 4_000_000_000)
    with pytest.raises(ModelError) as caught:
        memory.enter(user("large", 5_200_000_000))
    assert "large needs 5.2 GB" in caught.value.problem
    assert "may take 4.0 GB" in caught.value.problem
    assert BUDGET_VARIABLE in caught.value.fix
    assert names(memory) == []


def test_the_least_recently_used_is_asked_to_leave_and_the_wanted_waits_for_it() -> None:
    asked = threading.Event()
    memory = ModelMemory(lambda: 10, clock=iter(range(9)).__next__)
    old, new, wanted = user("old", 5), user("new", 5), user("wanted", 5)
    old.ask_to_leave = asked.set
    for loaded in (old, new):
        memory.enter(loaded)
        memory.mark(loaded, busy=False)
    thread = threading.Thread(target=memory.enter, args=(wanted,))
    thread.start()
    assert asked.wait(10)
    assert names(memory) == ["old", "new"]
    memory.leave(old)
    thread.join(10)
    assert names(memory) == ["new", "wanted"]


def test_an_engine_that_gives_up_waits_no_longer() -> None:
    asked, gave_up = threading.Event(), threading.Event()
    memory = ModelMemory(lambda: 10)
    first, second = user("first", 10), user("second", 10)
    first.ask_to_leave, second.gave_up = asked.set, gave_up.is_set
    memory.enter(first)
    entered: list[bool] = []
    thread = threading.Thread(target=lambda: entered.append(memory.enter(second)))
    thread.start()
    assert asked.wait(10)
    gave_up.set()
    memory.wake()
    thread.join(10)
    assert entered == [False]


@pytest.mark.model
def test_engines_over_a_budget_for_a_single_model_all_answer(
    engines: list[Engine], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(BUDGET_VARIABLE, "0.2")
    caplog.set_level(logging.INFO, "prefect_swarm.models")
    answers: dict[str, str] = {}

    def serve(chars: str) -> None:
        async def ask_all() -> None:
            for place, char in enumerate(chars):
                found = await asyncio.gather(
                    engines[place % 2].generate(letters(char)),
                    engines[1 - place % 2].generate(letters(char)),
                )
                assert found[0].text == found[1].text
                answers[char] = found[0].text

        asyncio.run(ask_all())

    threads = [threading.Thread(target=serve, args=(chars,)) for chars in ("abc", "xyz", "mno")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert answers == {char: char * 3 for char in "abcxyzmno"}
    loaded = [record.message for record in caplog.records if "Loaded" in record.message]
    assert len(loaded) >= 2
    assert sum(resident.use.weights for resident in model_memory().residents()) < 2e8


@pytest.mark.model
def test_an_unloaded_engine_loads_again_at_its_next_request(engines: list[Engine]) -> None:
    engine = engines[0]
    assert answer(engine, "a") == "aaa"
    engine.unload()
    assert answer(engine, "b") == "bbb"


@pytest.mark.model
def test_unloading_ends_no_request_that_is_under_way(engines: list[Engine]) -> None:
    engine = engines[0]

    async def main() -> tuple[str, str]:
        long = GenerateRequest(prompt="a", max_tokens=40, grammar='root ::= "a" root')
        under_way = asyncio.create_task(engine.generate(long))
        await asyncio.sleep(0)
        engine.unload()
        after = await engine.generate(letters("z"))
        return (await under_way).text, after.text

    long, after = asyncio.run(main())
    assert set(long) == {"a"}
    assert after == "zzz"


@pytest.mark.model
def test_an_engine_can_be_closed_while_it_unloads_or_waits_for_room(
    engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BUDGET_VARIABLE, "0.2")
    endless = GenerateRequest(prompt="a", max_tokens=200, grammar='root ::= "a" root')

    async def main() -> None:
        tasks = [asyncio.create_task(engine.generate(endless)) for engine in engines]
        await asyncio.sleep(0)
        for engine in engines:
            await asyncio.to_thread(engine.close)
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(outcome, ModelError) for outcome in outcomes)

    asyncio.run(main())


@pytest.mark.model
def test_a_model_beyond_the_budget_is_an_error_and_a_larger_budget_helps(
    engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BUDGET_VARIABLE, "0.05")
    with pytest.raises(ModelError, match="may take 50 MB"):
        answer(engines[0], "a")
    monkeypatch.setenv(BUDGET_VARIABLE, "0.2")
    assert answer(engines[0], "a") == "aaa"


@pytest.mark.model
def test_a_pinned_model_stays_where_another_can_go(
    demo_path: Path, engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BUDGET_VARIABLE, "0.3")
    pinned = Engine(demo_path, EngineConfig(n_ctx=256, n_slots=1, keep_loaded=True))
    try:
        for engine in (pinned, engines[1]):
            assert answer(engine, "a") == "aaa"
        monkeypatch.setenv(BUDGET_VARIABLE, "0.18")
        assert answer(engines[0], "b") == "bbb"
        kept = [resident.file for resident in model_memory().residents() if resident.pinned]
        assert kept == [(demo_path, None)]
    finally:
        pinned.close()


@pytest.mark.model
def test_what_is_measured_replaces_the_estimate_and_is_near_it(engines: list[Engine]) -> None:
    estimated = engines[0].memory_use
    asyncio.run(
        engines[0].generate(GenerateRequest(messages=(Message("user", "Hi"),), max_tokens=1))
    )
    measured = engines[0].memory_use
    assert measured != estimated
    for guess, figure in zip(estimated, measured, strict=True):
        assert guess == pytest.approx(figure, rel=0.25)
