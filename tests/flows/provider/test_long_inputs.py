"""Inputs that don't fit are cut or summarised, and the attempt says which."""

from __future__ import annotations

import re

import pytest
from flow_runs import plan_of, steps_of
from prefect_swarm.store.attempt import Omission
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.tasks.subagent.request import tokens_of
from provider_runs import prose, run_at, serving
from provider_server import Asked, ProviderServer, Reply
from quoted_texts import without_marks

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_LONG = prose("the harbour", 600)
_TWO = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
_ROOM = 300
_WORDS = re.compile(r"\n\nWrite this part in at most (\d+) words\.$")


def is_summary(asked: Asked) -> bool:
    return _WORDS.search(asked.prompt) is not None


def works(asked: Asked) -> Reply:
    """Answer S1 at length, S2 shortly, and summarise in as many words as are allowed."""
    if asked.prompt.endswith("do S2"):
        return Reply("They are deep.")
    if (words := _WORDS.search(asked.prompt)) is None:
        return Reply(_LONG)
    return Reply(" ".join(asked.prompt.split()[: int(words[1])]))


def refuses(asked: Asked) -> Reply:
    """Answer the steps, and refuse to summarise."""
    return Reply("I'm sorry, but I can't help with that.") if is_summary(asked) else works(asked)


def omissions_of(result: SwarmResult) -> tuple[Omission, ...]:
    return steps_of(result)["S2"].attempts[0].left_out


def reading(server: ProviderServer) -> str:
    """What S2 was asked."""
    (asked,) = [asked for asked in server.asked if asked.prompt.endswith("do S2")]
    return without_marks(asked.prompt)


def test_a_long_input_is_cut_and_the_attempt_says_by_how_much() -> None:
    with serving(works) as server:
        result = run_at(server, _TWO, max_input_tokens=_ROOM)
    (left,) = omissions_of(result)
    assert (left.name, left.of, left.summarised) == ("S1", tokens_of(_LONG), False)
    assert left.of - left.tokens <= _ROOM
    assert f"\n{_LONG[:300]}" in reading(server)
    assert "more characters]" in reading(server)


def test_a_long_input_is_summarised_by_the_worker() -> None:
    with serving(works) as server:
        result = run_at(server, _TWO, max_input_tokens=_ROOM, policy={"long_inputs": "summarise"})
    assert result.status == "completed"
    assert any(is_summary(asked) for asked in server.asked)
    (left,) = omissions_of(result)
    assert (left.name, left.of, left.summarised) == ("S1", tokens_of(_LONG), True)


def test_every_part_of_a_long_input_is_summarised() -> None:
    with serving(works) as server:
        run_at(server, _TWO, max_input_tokens=_ROOM, policy={"long_inputs": "summarise"})
    parts = [
        without_marks(_WORDS.sub("", asked.prompt)) for asked in server.asked if is_summary(asked)
    ]
    ordered = sorted((part for part in parts if part in _LONG), key=_LONG.index)
    assert "".join(ordered) == _LONG


def test_a_summary_is_made_once_where_the_worker_keeps_to_its_words() -> None:
    with serving(works) as server:
        run_at(server, _TWO, max_input_tokens=_ROOM, policy={"long_inputs": "summarise"})
    parts = -(-tokens_of(_LONG) // _ROOM)
    assert sum(map(is_summary, server.asked)) <= parts + 1


def test_the_step_reads_the_summary_in_the_inputs_place() -> None:
    with serving(works) as server:
        run_at(server, _TWO, max_input_tokens=_ROOM, policy={"long_inputs": "summarise"})
    read = reading(server)
    assert read.startswith("Result of S1 (Reader):\n")
    assert tokens_of(read) < _ROOM + 50
    assert "more characters]" not in read
    assert _LONG[:400] not in read


def test_what_summaries_took_is_counted() -> None:
    with serving(works) as server:
        result = run_at(server, _TWO, max_input_tokens=_ROOM, policy={"long_inputs": "summarise"})
    assert result.cost.calls == len(server.asked)


def test_an_input_that_no_worker_summarises_is_cut() -> None:
    with serving(refuses) as server:
        result = run_at(server, _TWO, max_input_tokens=_ROOM, policy={"long_inputs": "summarise"})
    read = reading(server)
    assert f"\n{_LONG[:300]}" in read
    assert "I can't help" not in read
    assert "in at most" not in read
    assert [left.summarised for left in omissions_of(result)] == [False]
    assert result.cost.calls == len(server.asked)


def test_inputs_that_fit_are_read_as_they_are() -> None:
    with serving(works) as server:
        result = run_at(server, _TWO, max_input_tokens=5000, policy={"long_inputs": "summarise"})
    assert (omissions_of(result), len(server.asked)) == ((), 2)
    assert _LONG in reading(server)


def test_an_input_that_a_step_names_is_summarised_too() -> None:
    plan = plan_of(
        {"id": "S1"},
        {"id": "S2", "depends_on": ["S1"], "inputs": ["old/log.txt"]},
        inputs={"old/log.txt": _LONG, "other.txt": "Calm."},
    )
    with serving(works) as server:
        result = run_at(server, plan, max_input_tokens=_ROOM, policy={"long_inputs": "summarise"})
    assert result.status == "completed"
    assert {left.name for left in omissions_of(result)} == {"S1", "old/log.txt"}
    assert reading(server).startswith("Input old/log.txt:\n")
    assert "Calm." not in reading(server)
