"""Entries of a journal of calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.store.attempt import Compaction, Usage
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.toolsets.journal import (
    CallJournal,
    CallKey,
    Committed,
    Compacted,
    Entry,
    LeftOut,
    Messages,
    Reserved,
    arguments_hash,
    call_keys,
    read_entries,
    state_of,
    stored_answers,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)

KEYS = st.builds(
    CallKey,
    ordinal=st.integers(1, 3),
    tool=st.sampled_from("ab"),
    arguments_hash=st.sampled_from(["0", "1"]),
)
ENTRIES: st.SearchStrategy[list[Entry]] = st.lists(
    st.one_of(
        st.builds(Reserved, at=st.just(1.0), key=KEYS),
        st.builds(Committed, at=st.just(2.0), key=KEYS, result=st.text()),
        st.builds(Messages, at=st.just(0.0), messages=st.just([{"kind": "response"}])),
    )
)


@given(ENTRIES)
def test_a_call_is_uncertain_if_it_was_begun_and_has_no_end(entries: list[Entry]) -> None:
    state = state_of(entries)
    begun = {entry.key for entry in entries if isinstance(entry, Reserved)}
    over = {entry.key for entry in entries if isinstance(entry, Committed)}
    assert {key for key in begun | over if state.is_uncertain(key)} == begun - over


@given(ENTRIES)
def test_the_first_result_of_a_call_counts(entries: list[Entry]) -> None:
    state = state_of(entries)
    for key, committed in state.committed.items():
        first = next(e for e in entries if isinstance(e, Committed) and e.key == key)
        assert committed == first


@given(ENTRIES)
def test_entries_are_read_as_they_were_written_past_lines_that_are_none(
    entries: list[Entry],
) -> None:
    lines = [entry.model_dump(mode="json") for entry in entries]
    assert read_entries([{"kind": "other"}, *lines, {}]) == entries


@given(st.dictionaries(st.text(), st.integers()))
def test_the_order_of_arguments_does_not_count(arguments: dict[str, int]) -> None:
    assert arguments_hash(arguments) == arguments_hash(dict(reversed(arguments.items())))


def test_calls_are_numbered_over_all_answers() -> None:
    first, second, third = (ToolCallPart("look", {"n": n}) for n in range(3))
    messages: list[ModelMessage] = [
        ModelRequest([UserPromptPart("?")]),
        ModelResponse([first, second]),
        ModelRequest([UserPromptPart("!")]),
        ModelResponse([third]),
    ]
    keys = call_keys(messages)
    assert [[key.ordinal for key in answer] for answer in keys] == [[1, 2], [3]]


def test_calls_of_one_id_are_known_by_their_positions() -> None:
    answers = [ModelResponse([ToolCallPart("look", {"n": n}, "call_0")]) for n in range(3)]
    keys = [key for answer in call_keys(answers) for key in answer]
    assert [key.ordinal for key in keys] == [1, 2, 3]
    assert len(set(keys)) == 3


def test_a_conversation_has_no_holes() -> None:
    def entry(after: int | None, *texts: str) -> Messages:
        return Messages(at=0.0, messages=list(texts), after=after)

    assert state_of([entry(None, "a"), entry(1, "b", "c"), entry(3, "d")]).messages == [*"abcd"]
    assert state_of([entry(0, "a"), entry(3, "d"), entry(1, "b")]).messages == [*"ab"]
    assert state_of([entry(0, "a", "b"), entry(0, "x"), entry(1, "y")]).messages == [*"xy"]


def test_a_line_that_was_cut_off_loses_no_other() -> None:
    run = RunFolder.of("0" * 32)
    journal = CallJournal(run, "S1.1", "abcdef0123")
    key = CallKey(ordinal=1, tool="look", arguments_hash="0")
    journal.write(Reserved(at=1.0, key=key))
    path = run.folder / "calls" / "S1.1-abcdef01.jsonl"
    path.write_text(path.read_text("utf-8") + '\n{"kind": "committed", "at": 2.0, "ke', "utf-8")
    assert journal.read().is_uncertain(key)
    journal.write(Committed(at=3.0, key=key, result="seen"))
    assert journal.read().committed[key].result == "seen"


@pytest.mark.parametrize("step", ["S1", "S1-2", "S2[7]", "S2[7.3]", "S5.S2", "S2[7.3]r2.S1"])
@pytest.mark.parametrize("sample", ["", ".2"])
def test_what_an_earlier_attempt_began_and_lost_is_known_by_its_step(
    step: str, sample: str, swarm_home: Path
) -> None:
    run = RunFolder.of("0" * 32)
    lost = CallJournal(run, f"{step}.1{sample}", "abcdef0123")
    key = CallKey(ordinal=1, tool="send", arguments_hash="0")
    lost.begin(Reserved(at=1.0, key=key), once=True)
    (calls,) = (run.folder / "calls").iterdir()
    calls.unlink()
    assert CallJournal(run, f"{step}.2", "abcdef0123").lost_before() == {"send"}
    assert CallJournal(run, f"{step}.1{sample}", "abcdef0123").lost_before() == frozenset()
    assert CallJournal(run, "S3.2", "abcdef0123").lost_before() == frozenset()


def compacted(after: int, **fields: Any) -> Compacted:
    made = Compaction(request=3, tokens_before=9, tokens_after=5)
    left_out = LeftOut(results={1: 0, 2: 300}, exchanges=1, summary="Tea is 3.")
    return Compacted(at=1.0, after=after, left_out=left_out, made=made, **fields)


def test_a_journal_says_what_was_left_out_of_the_conversation() -> None:
    entry = compacted(5)
    state = state_of(read_entries([entry.model_dump(mode="json")]))
    assert state.compactions == [entry]
    assert state.compactions[0].left_out.unseen == {1}


def test_what_was_left_out_of_messages_that_were_written_otherwise_since_is_forgotten() -> None:
    first = Messages(at=0.0, messages=[{"kind": "request"}, {"kind": "response"}], after=0)
    second = first.model_copy(update={"after": 2})
    early, late = compacted(3), compacted(5)
    assert state_of([first, early, second, late]).compactions == [early, late]
    assert state_of([first, early, second, late, second]).compactions == [early]


def test_summaries_are_answers_that_a_journal_has(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    journal = CallJournal(run, "S1.1", "0123456789abcdef")
    journal.write(Messages(at=0.0, messages=[{"kind": "request"}, {"kind": "response"}]))
    journal.write(compacted(3, usage=Usage(requests=1, input_tokens=9)))
    assert stored_answers(run, "run.hash.S1.1.0123456789abcdef") == 2
