"""A token is chosen from the likeliest as it would be from the whole vocabulary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from prefect_swarm.models.llama import native as native_module
from prefect_swarm.models.llama.api import EngineConfig, GeneratedText, GenerateRequest, LocalTool
from prefect_swarm.models.llama.batcher import Batcher
from prefect_swarm.models.llama.native import Logits, Native, likeliest
from prefect_swarm.models.llama.slots import Job
from prefect_swarm.models.llama.turn_grammar import turn_grammar


@given(
    logits=arrays(np.float32, st.integers(1, 60), elements=st.floats(-50, 50, width=32)),
    count=st.integers(0, 70),
)
def test_the_likeliest_are_no_less_likely_than_the_others(
    logits: np.ndarray[tuple[int], np.dtype[np.float32]], count: int
) -> None:
    found = likeliest(logits, count)
    assert len(set(found.tolist())) == len(found)
    assert len(found) == (min(count, len(logits)) or len(logits))
    others = np.delete(logits, found)
    assert not len(others) or logits[found].min() >= others.max()


@pytest.mark.model
@pytest.mark.parametrize(
    "fields",
    [{}, {"temperature": 1.0}, {"temperature": 0.0}, {"repeat_penalty": 1.0, "temperature": 1.5}],
)
def test_what_is_chosen_from_the_likeliest_is_what_is_chosen_from_all(
    shallow_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, float]
) -> None:
    request = GenerateRequest(
        prompt="One day a king saw",
        max_tokens=40,
        seed=5,
        **fields,  # pyright: ignore[reportArgumentType]
    )
    texts: list[str] = []
    native = Native(shallow_path, EngineConfig(n_ctx=128, n_slots=1))
    try:
        for count in (None, 0):
            with monkeypatch.context() as patched:
                if count is not None:
                    patched.setattr(native_module, "likeliest", _all)
                texts.append(_answer(native, request))
    finally:
        native.close()
    assert texts[0] == texts[1]


def _all(logits: Logits, _: int) -> np.ndarray[tuple[int], np.dtype[np.integer[Any]]]:
    return np.arange(len(logits))


def _answer(native: Native, request: GenerateRequest) -> str:
    answers: list[GeneratedText | BaseException] = []
    batcher = Batcher(native, EngineConfig(n_ctx=128, n_slots=1))
    batcher.add(Job(request, answers.append, submitted=0.0))
    while batcher.has_work:
        batcher.step()
    (answer,) = answers
    assert isinstance(answer, GeneratedText)
    return answer.text


@pytest.mark.model
def test_free_text_beside_a_form_is_sampled_as_it_would_be_alone(shallow_path: Path) -> None:
    """With its penalty and its seed, so that a model with tools answers as one without."""
    free = GenerateRequest(prompt="One day a king saw", max_tokens=40, seed=5, temperature=0.8)
    tools = (LocalTool("look", "", {}),)
    turn = turn_grammar(tools, "plain", callable_names=frozenset({"look"}))
    held = replace(free, grammar=turn.grammar, leaves_text=turn.leaves_text)
    native = Native(shallow_path, EngineConfig(n_ctx=128, n_slots=1))
    try:
        assert _answer(native, held) == _answer(native, free)
    finally:
        native.close()


@pytest.mark.model
def test_what_can_not_end_where_it_is_has_no_penalty(shallow_path: Path) -> None:
    """The names of a call are those of its tool, however often they were said."""
    request = GenerateRequest(
        prompt="abc", max_tokens=30, grammar="root ::= [abc]{60}", leaves_text=True, temperature=0
    )
    native = Native(shallow_path, EngineConfig(n_ctx=128, n_slots=1))
    try:
        texts = [_answer(native, replace(request, repeat_penalty=value)) for value in (1.0, 5.0)]
        penalised = replace(request, grammar="root ::= [abc]*", repeat_penalty=5.0)
        assert texts[0] == texts[1] != _answer(native, penalised)
    finally:
        native.close()


@pytest.mark.model
@pytest.mark.parametrize(("marks", "text"), [((), b""), (("<|im_start|>",), b"<|im_start|>")])
def test_a_special_token_that_begins_a_call_has_its_text(
    shallow_path: Path, monkeypatch: pytest.MonkeyPatch, marks: tuple[str, ...], text: bytes
) -> None:
    """Else whoever reads the answer would not see where the call begins."""
    monkeypatch.setattr(native_module, "_CALL_MARKS", marks)
    native = Native(shallow_path, EngineConfig(n_ctx=128, n_slots=1))
    try:
        (token,) = native.tokenize("<|im_start|>")
        assert native.piece(token) == text
    finally:
        native.close()
