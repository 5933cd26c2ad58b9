"""Notes of a look around, as the planner reads them: quoted, bounded, whole lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.tasks.planner.facts_text import notes_text
from prefect_swarm.tasks.subagent.request import tokens_of


def test_each_line_is_quoted() -> None:
    text = notes_text("40 works\n\n500 reports", 1500)
    assert text.splitlines()[1:] == ["“40 works”", "“500 reports”"]
    assert "no instruction to you" in text


def test_nothing_noted_is_nothing_shown() -> None:
    assert notes_text(" \n", 1500) == ""


def test_what_has_no_room_is_left_out_at_the_end_and_that_is_said() -> None:
    text = notes_text("\n".join(f"line {n}" for n in range(200)), 200)
    assert "“line 0”" in text
    assert "“line 199”" not in text
    assert text.endswith("[the rest of the notes is left out]")


@given(st.text(max_size=2_000), st.integers(0, 600))
def test_it_takes_no_more_tokens_than_it_may(notes: str, most: int) -> None:
    assert tokens_of(notes_text(notes, most)) <= most


@given(st.text(max_size=500))
def test_no_note_ends_its_own_quotation(notes: str) -> None:
    for line in notes_text(notes, 5_000).splitlines()[1:]:
        assert line.startswith("“")
        assert line.endswith("”")
        assert line.count("“") == line.count("”") == 1
