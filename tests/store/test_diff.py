"""Two runs side by side."""

from __future__ import annotations

from typing import Any

from flow_runs import plan_of
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.attempt import Attempt, Usage
from prefect_swarm.store.diff import (
    MOST_LINES,
    RunDiff,
    compare_plans,
    compare_runs,
    compare_texts,
)
from prefect_swarm.store.result import Cost
from prefect_swarm.store.step import StepState, TakenFrom

STEPS: tuple[dict[str, Any], ...] = ({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
PLAN = plan_of(*STEPS, inputs={"notes": "a", "same": "b"})


def with_agent(**changes: Any) -> TaskIR:
    data = PLAN.model_dump(mode="json")
    data["agents"][0].update(changes)
    return parse_plan(data)


def changes_of(after: TaskIR) -> dict[tuple[str, str], tuple[str, str]]:
    found = compare_plans(PLAN, after)
    return {
        (step.step, change.field): (change.before, change.after)
        for step in found.changed
        for change in step.changes
    }


class TestPlans:
    def test_a_plan_differs_not_from_itself(self) -> None:
        assert compare_plans(PLAN, PLAN).is_empty

    def test_steps_are_added_and_removed(self) -> None:
        found = compare_plans(
            plan_of({"id": "S1"}, {"id": "S2"}), plan_of({"id": "S2"}, {"id": "S3"})
        )
        assert (found.removed, found.added, found.changed) == (("S1",), ("S3",), ())

    def test_a_changed_step_has_both_values_of_each_field(self) -> None:
        after = plan_of(
            {"id": "S1", "prompt": "look", "gates": ["+min_words"]}, {"id": "S2", "depends_on": []}
        )
        assert changes_of(after) == {
            ("S1", "prompt"): ("do S1", "look"),
            ("S1", "gates"): ("null", '["+min_words"]'),
            ("S2", "needs"): ('["S1"]', "[]"),
        }

    def test_what_its_agent_is_counts_as_the_steps(self) -> None:
        after = with_agent(system_prompt="You skim.", tier="coder", tools=["web"])
        assert {key: pair[1] for key, pair in changes_of(after).items() if key[0] == "S1"} == {
            ("S1", "instructions"): "You skim.",
            ("S1", "tier"): "coder",
            ("S1", "tools"): '["web"]',
        }

    def test_inputs_are_named_where_their_texts_differ(self) -> None:
        after = plan_of(*STEPS, inputs={"notes": "c", "same": "b", "more": "d"})
        assert compare_plans(PLAN, after).inputs == ("notes", "more")

    def test_the_rest_of_the_plan_counts_too(self) -> None:
        after = plan_of(*STEPS, inputs=PLAN.inputs, final_step="S2")
        (change,) = compare_plans(PLAN, after).fields
        assert (change.field, change.before, change.after) == ("final_step", "null", "S2")

    @given(st.sets(st.integers(1, 9), min_size=1), st.sets(st.integers(1, 9), min_size=1))
    def test_turned_round_what_was_added_was_removed(self, old: set[int], new: set[int]) -> None:
        before, after = (plan_of(*({"id": f"S{n}"} for n in sorted(ids))) for ids in (old, new))
        forth, back = compare_plans(before, after), compare_plans(after, before)
        assert (forth.added, forth.removed) == (back.removed, back.added)
        assert forth.is_empty == (old == new)


class TestTexts:
    def test_the_same_text_has_no_difference(self) -> None:
        assert compare_texts("a\nb", "a\nb").lines == ()
        assert compare_texts("", "").is_same

    def test_a_changed_line_is_shown_with_both(self) -> None:
        found = compare_texts("a\nb\nc", "a\nx\nc")
        assert found.lines == ("@@ -1,3 +1,3 @@", " a", "-b", "+x", " c")

    def test_a_long_line_is_broken_so_that_its_end_is_seen(self) -> None:
        found = compare_texts("word " * 100 + "end", "word " * 100 + "another end")
        assert any(line.startswith("-") and line.endswith("end") for line in found.lines)
        assert all(len(line) <= 101 for line in found.lines)

    def test_white_space_in_a_long_line_is_a_difference_without_lines(self) -> None:
        found = compare_texts("word " * 100, "word " * 100 + " ")
        assert (found.is_same, found.lines) == (False, ())

    def test_it_is_bounded_and_says_so(self) -> None:
        found = compare_texts("\n".join("a" * 1500), "\n".join("b" * 1500))
        assert (len(found.lines), found.left_out, found.is_cut) == (MOST_LINES, 2801, False)
        assert compare_texts("a\n" * 3000, "b\n" * 3000).is_cut

    @given(st.text(max_size=300), st.text(max_size=300))
    def test_any_texts_can_be_compared(self, before: str, after: str) -> None:
        found = compare_texts(before, after)
        assert found.is_same == (before == after)
        assert len(found.lines) <= MOST_LINES


def step(**changes: Any) -> StepState:
    return StepState.model_validate(
        {"id": "S1", "agent": "Reader", "status": "succeeded", **changes}
    )


class TestRuns:
    ATTEMPT = Attempt(
        number=1,
        tier="worker",
        model="m",
        started_at=1.0,
        ended_at=4.0,
        queue_s=1.0,
        usage=Usage(requests=1, input_tokens=7, output_tokens=3),
    )

    def test_steps_are_beside_each_other(self) -> None:
        origin = TakenFrom(run="a", output_ref="a/outputs/S1.txt")
        before = RunDiff(
            run_id="a", status="completed", plan=PLAN, steps=(step(attempts=(self.ATTEMPT,)),)
        )
        after = RunDiff(run_id="b", status="partial", plan=PLAN, steps=(step(taken_from=origin),))
        found = compare_runs(before, after)
        first, second = found.steps
        assert (first.taken_from, first.models) == (("", "a"), ("m", ""))
        assert (first.tokens, first.attempts, first.seconds) == ((10, 0), (1, 0), (2.0, 0.0))
        assert (second.step, second.statuses) == ("S2", ("", ""))

    def test_a_run_without_a_result_has_no_answer_and_no_figures(self) -> None:
        ended = RunDiff(
            run_id="a", status="completed", plan=PLAN, answer="yes", cost=Cost(calls=2, tokens=9)
        )
        found = compare_runs(ended, RunDiff(run_id="b", status="unfinished", plan=PLAN))
        assert found.answer is None
        assert found.cost["calls"] == (2, None)
        assert found.metrics["work_s"] == (None, None)
        assert found.statuses == ("completed", "unfinished")
