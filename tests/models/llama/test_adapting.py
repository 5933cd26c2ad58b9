"""An engine computes with fewer threads beside neighbours, unless the user has set the count."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest
from prefect_swarm.models.llama.threads import AdaptiveThreads
from prefect_swarm.openmp import computing


def counts(fixed: int | None = None) -> list[int]:
    """The counts that are set: alone, beside an announced neighbour, alone, and under load."""
    found: list[int] = []
    foreign = 0.0
    threads = AdaptiveThreads(found.append, fixed, cores=2, foreign=lambda: foreign)
    threads.adapt()
    with computing():
        threads.adapt()
        threads.adapt()
    threads.adapt()
    foreign = 0.7
    threads.adapt()
    return found


def test_the_count_is_set_when_it_changes() -> None:
    assert counts() == [1, 2, 1]


def test_the_users_own_count_stays() -> None:
    assert counts(fixed=2) == []


@pytest.mark.model
def test_an_answer_is_the_same_with_any_count(demo_path: Path) -> None:
    from prefect_swarm.models.llama.engine import Engine

    request = GenerateRequest(prompt="Once upon a time", max_tokens=24, temperature=0)

    def answer(n_threads: int) -> str:
        engine = Engine(demo_path, EngineConfig(n_ctx=128, n_slots=1, n_threads=n_threads))
        try:
            return asyncio.run(engine.generate(request)).text
        finally:
            engine.close()

    assert answer(1) == answer(2)


@pytest.mark.model
def test_an_engine_lets_its_threads_follow(
    demo_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect_swarm.models.llama import threads as adapting
    from prefect_swarm.models.llama.engine import Engine
    from prefect_swarm.models.llama.native import Native

    found: list[int] = []

    def note(_: Native, count: int) -> None:
        found.append(count)

    monkeypatch.setattr(adapting, "usable_cores", lambda: 2)
    monkeypatch.setattr(Native, "set_threads", note)
    engine = Engine(demo_path, EngineConfig(n_ctx=64, n_slots=1))
    try:
        with computing():
            asyncio.run(engine.generate(GenerateRequest(prompt="A", max_tokens=2)))
    finally:
        engine.close()
    assert found[:1] == [1]
