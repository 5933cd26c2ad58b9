"""Many requests of all kinds at once: each ends exactly once, and nothing is left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from prefect_swarm.models.llama.api import EngineConfig, GeneratedText, GenerateRequest
from prefect_swarm.models.llama.batcher import Batcher
from prefect_swarm.models.llama.engine import Engine
from prefect_swarm.models.llama.native import Native
from prefect_swarm.models.llama.slots import Job
from soak_requests import SoakCase, soak_cases

pytestmark = [pytest.mark.model, pytest.mark.slow]

SEED = 20240501
LOOPS = 3
AT_ONCE = 12
ASKED_AGAIN = 25
CONFIG = EngineConfig(n_ctx=256, n_slots=4, deterministic=True)
STUCK_S = 500
"""Only a deadlock takes so long."""


class ObservedEngine(Engine):
    """An engine that shows what it computes with, and counts what it answers."""

    native: Native
    batcher: Batcher
    replies: dict[int, int]

    def _load(self) -> tuple[Native, Batcher]:
        self.native, self.batcher = super()._load()
        return self.native, self.batcher

    def _submit(self, job: Job) -> None:
        reply, request = job.reply, job.request

        def counted(outcome: GeneratedText | BaseException) -> None:
            self.replies[id(request)] = self.replies.get(id(request), 0) + 1
            reply(outcome)

        job.reply = counted
        super()._submit(job)


@pytest.fixture(scope="module")
def engine(shallow_path: Path) -> Iterator[ObservedEngine]:
    engine = ObservedEngine(shallow_path, CONFIG)
    engine.replies = {}
    yield engine
    engine.close()


@pytest.fixture(scope="module", params=[200, pytest.param(1000, marks=pytest.mark.exhaustive)])
def cases(engine: ObservedEngine, request: pytest.FixtureRequest) -> list[SoakCase]:
    """What became of the requests, asked from several event loops at once."""
    cases = soak_cases(request.param, SEED)

    def serve(n: int) -> None:
        asyncio.run(ask_all(engine, cases[n::LOOPS]))

    threads = [threading.Thread(target=serve, args=(n,), daemon=True) for n in range(LOOPS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(STUCK_S)
    # What was cancelled last goes at the step that begins with this.
    ask(engine, GenerateRequest(prompt="The end", max_tokens=1))
    for case in cases:
        case.replies = engine.replies.get(id(case.request), 0)
    return cases


async def ask_all(engine: Engine, cases: Sequence[SoakCase]) -> None:
    room = asyncio.Semaphore(AT_ONCE)

    async def ask_within(case: SoakCase) -> None:
        async with room:
            await ask_and_leave(engine, case)

    await asyncio.gather(*map(ask_within, cases))


async def ask_and_leave(engine: Engine, case: SoakCase) -> None:
    """Ask, and cancel when the case's caller leaves."""
    loop, leave = asyncio.get_running_loop(), asyncio.Event()

    def leave_now(*_: object) -> None:
        loop.call_soon_threadsafe(leave.set)

    if case.leaves == "started":
        case.request = replace(case.request, on_start=leave_now)
    elif case.leaves == "writing":
        case.request = replace(case.request, on_text=leave_now)
    elif case.leaves == "at once":
        leave.set()
    task = asyncio.create_task(engine.generate(case.request))
    if case.leaves != "never":
        leaving = asyncio.create_task(leave.wait())
        await asyncio.wait([task, leaving], return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        task.cancel()
    (case.outcome,) = await asyncio.gather(task, return_exceptions=True)


def ask(engine: Engine, request: GenerateRequest) -> GeneratedText:
    return asyncio.run(asyncio.wait_for(engine.generate(request), STUCK_S))


def test_each_request_ends_exactly_one_way(cases: list[SoakCase]) -> None:
    for case in cases:
        left = isinstance(case.outcome, asyncio.CancelledError)
        assert case.outcome is not None, case
        assert case.replies == 1 or (left and case.replies == 0), case
        assert not left or case.leaves != "never", case


def test_each_request_ends_as_it_may(cases: list[SoakCase]) -> None:
    for case in cases:
        if isinstance(case.outcome, GeneratedText):
            assert not case.fails, case
        elif case.leaves == "never":
            assert isinstance(case.outcome, case.errors), case


def test_every_way_to_end_was_met(cases: list[SoakCase]) -> None:
    texts = [case.outcome for case in cases if isinstance(case.outcome, GeneratedText)]
    assert {text.finish for text in texts} == {"stop", "length", "aborted"}
    assert len({type(case.outcome) for case in cases}) == 5


def test_no_text_has_anothers(cases: list[SoakCase]) -> None:
    for case, text in answered(cases):
        assert case.text in (None, text), case
        if case.request.on_text and case.leaves == "never":
            assert "".join(case.pieces) == text, case
        assert not any(stop in text for stop in case.request.stop if stop), case


def test_a_request_asked_again_alone_has_the_same_text(
    engine: ObservedEngine, cases: list[SoakCase]
) -> None:
    repeatable = [(case, text) for case, text in answered(cases) if case.repeatable]
    step = len(repeatable) // ASKED_AGAIN
    for case, text in repeatable[::step]:
        assert ask(engine, case.request).text == text, case


def test_nothing_is_left_but_the_slots_prompts(
    engine: ObservedEngine, cases: list[SoakCase]
) -> None:
    native, batcher = engine.native, engine.batcher
    assert not batcher._waiting
    assert not any(slot.run for slot in batcher._slots)
    assert [native.held(slot.sequence) for slot in batcher._slots] == [
        len(slot.tokens) for slot in batcher._slots
    ]
    batcher.fail(RuntimeError("Nothing waits for this."))
    assert {native.held(slot.sequence) for slot in batcher._slots} == {0}


def answered(cases: Sequence[SoakCase]) -> list[tuple[SoakCase, str]]:
    return [(case, case.outcome.text) for case in cases if isinstance(case.outcome, GeneratedText)]
