"""Steps that do the same to different things."""

from __future__ import annotations

from prefect_swarm.tasks.planner.adapter.line_format import read_lines
from prefect_swarm.tasks.planner.adapter.repair.parallel_steps import parallel_groups


def _rows(text: str) -> list[list[tuple[str, str]]]:
    found = parallel_groups(read_lines(text, "Whatever").steps)
    return [[(branch.step.id, branch.own) for branch in group.branches] for group in found]


def test_branches_differ_in_words_of_their_own() -> None:
    plan = """\
1. Critic: Describe the ending of Great Expectations
2. Critic: Describe the ending of Jane Eyre
3. Critic: Compare the endings of Great Expectations and Jane Eyre (needs 1, 2)"""
    assert _rows(plan) == [[("S1", "Great Expectations"), ("S2", "Jane Eyre")]]


def test_each_layer_is_a_row_of_its_own() -> None:
    plan = """\
1. Coder: Implement a stack in C++
2. Coder: Implement a queue in C++
3. Tester: Test the stack (needs 1)
4. Tester: Test the queue (needs 2)"""
    assert _rows(plan) == [
        [("S1", "stack"), ("S2", "queue")],
        [("S3", "stack"), ("S4", "queue")],
    ]


def test_steps_that_share_no_beginning_or_little_are_not_parallel() -> None:
    assert _rows("1. A: Describe tea\n2. B: Brew some coffee") == []
    assert (
        _rows("1. A: Write a poem about the sea\n2. B: Write the invoice for Mrs Lindqvist") == []
    )


def test_a_step_that_needs_another_is_in_no_row_with_it() -> None:
    assert _rows("1. A: Describe tea\n2. B: Describe coffee (needs 1)") == []


def test_a_lane_has_at_least_one_word_of_its_own() -> None:
    assert _rows("1. A: Describe tea\n2. A: Describe tea leaves") == []
    assert _rows("1. A: Describe tea\n2. B: Describe tea") == []
