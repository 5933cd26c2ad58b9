"""A prompt that no slot holds any more is not computed again, in this process nor in the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.models.llama.api import EngineConfig, GeneratedText, GenerateRequest
from prefect_swarm.models.llama.batcher import Batcher
from prefect_swarm.models.llama.native import Native
from prefect_swarm.models.llama.prefixes import PrefixFolder
from prefect_swarm.models.llama.slots import Job

pytestmark = pytest.mark.model

CONFIG = EngineConfig(n_ctx=512, n_slots=1, deterministic=True)
LONG = "The house has many rules, and this is another of them. " * 25
OTHER = "A sea is blue and a moon is white. " * 40


@pytest.fixture(scope="module")
def native(shallow_path: Path) -> Iterator[Native]:
    native = Native(shallow_path, CONFIG)
    yield native
    native.close()


@pytest.fixture
def folder(tmp_path: Path) -> PrefixFolder:
    return PrefixFolder(tmp_path, 1 << 30)


def ask(batcher: Batcher, text: str) -> GeneratedText:
    answers: list[GeneratedText | BaseException] = []
    batcher.add(Job(GenerateRequest(prompt=text, max_tokens=8), answers.append, 0.0))
    while batcher.has_work:
        batcher.step()
    (answer,) = answers
    assert isinstance(answer, GeneratedText), answer
    return answer


def new_batcher(native: Native, stored: PrefixFolder | None = None) -> Batcher:
    native.forget_all()
    return Batcher(native, CONFIG, stored=stored)


def test_a_prompt_that_lost_its_slot_is_not_computed_again(native: Native) -> None:
    batcher = new_batcher(native)
    first = ask(batcher, LONG)
    assert first.input_tokens > 256
    assert ask(batcher, OTHER).cached_tokens == 0
    again = ask(batcher, LONG)
    assert again.cached_tokens == again.input_tokens - 2
    assert again.text == first.text


def test_a_short_prompt_that_lost_its_slot_is_computed_again(native: Native) -> None:
    batcher = new_batcher(native)
    short = "This prompt is a short one."
    for text in (short, OTHER):
        ask(batcher, text)
    assert ask(batcher, short).cached_tokens == 0


def test_a_beginning_that_two_prompts_share_is_there_in_the_next_process(
    native: Native, folder: PrefixFolder, tmp_path: Path
) -> None:
    batcher = new_batcher(native, folder)
    question = "What does a guest have to know before he comes to such a house for a week?"
    ask(batcher, f"{LONG} And who made them all, in which of the many years before this one?")
    here = ask(batcher, LONG + question)
    shared = here.cached_tokens
    assert shared > 256
    there_now = new_batcher(native, PrefixFolder(tmp_path, 1 << 30))
    fresh = ask(there_now, LONG + question)
    assert fresh.cached_tokens == shared
    assert fresh.text == here.text


def test_the_same_prompt_twice_shares_nothing(
    native: Native, folder: PrefixFolder, tmp_path: Path
) -> None:
    batcher = new_batcher(native, folder)
    ask(batcher, LONG)
    ask(batcher, LONG)
    assert list(tmp_path.iterdir()) == []


def test_a_state_that_llama_cpp_refuses_is_computed_again(
    native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(sequence: int, data: bytes) -> bool:
        return False

    batcher = new_batcher(native)
    first = ask(batcher, LONG)
    # The slot has a part of it.
    ask(batcher, LONG[:200] + OTHER)
    monkeypatch.setattr(native, "restore", refuse)
    again = ask(batcher, LONG)
    assert again.cached_tokens == 0
    assert again.text == first.text
