"""How far a batch is, in words and as a page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.report.batch_board import (
    LINE_STATUSES,
    BatchBoard,
    LineView,
    batch_page,
    batch_words,
)
from prefect_swarm.report.markdown import MOST_CHARS, page_markdown

LINES = {
    1: LineView(1, "passed over"),
    2: LineView(2, "completed", 100.0, "aa", "http://ui/aa", tokens=1200, usd=0.01),
    3: LineView(3, "failed", 100.0, why="The line is not JSON: |x|."),
    4: LineView(4, "running", 130.0, "bb"),
}


def written(board: BatchBoard, now: float = 160.0) -> str:
    return page_markdown(batch_page(board, now, "batch jobs.jsonl"), lambda _: "")


def test_words_count_the_lines_and_say_what_is_left() -> None:
    words = batch_words(BatchBoard(6, dict(LINES)), 160.0)
    assert words == (
        "3 of 6 lines: 1 running, 1 completed, 1 failed, 1 passed over; about 1:30 left"
    )
    assert batch_words(BatchBoard(1), 0.0) == "0 of 1 line"


def test_nothing_is_said_of_the_time_before_a_line_has_ended_here() -> None:
    begun = BatchBoard(3, {1: LINES[1], 4: LINES[4]})
    assert "left" not in batch_words(begun, 160.0)


def test_the_page_has_who_runs_and_what_went_wrong_first() -> None:
    text = written(BatchBoard(6, dict(LINES)))
    assert text.index("## Running") < text.index("## Not completed") < text.index("## Ended")
    assert "| 3 | failed | The line is not JSON: \\|x\\|. |" in text
    assert "[aa](http://ui/aa)" in text
    assert "1,200 tokens, $0.0100 so far." in text
    assert "| 4 | bb | 30.0 s |" in text


@given(
    st.dictionaries(
        st.integers(1, 5000),
        st.builds(
            LineView,
            number=st.integers(1, 5000),
            status=st.sampled_from(LINE_STATUSES),
            began_at=st.floats(0, 100),
            why=st.text(),
            tokens=st.integers(0, 10**9),
        ),
        max_size=400,
    ),
)
def test_any_lines_come_to_counts_and_a_page_of_bounded_length(lines: dict[int, LineView]) -> None:
    board = BatchBoard(5000, lines)
    assert sum(board.counts.values()) == len(lines)
    assert 0 <= board.left <= board.total
    assert len(written(board)) < 2 * MOST_CHARS
