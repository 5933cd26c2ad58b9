"""Critical steps are counted as published, turn by turn, and rewards by both published forms."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.memory.learning.reward import LearningConfig
from prefect_swarm.metrics.critical_path import measure
from prefect_swarm.metrics.parl import (
    PARTIAL_WORTH,
    CollapseFinding,
    OrchestratorTurn,
    ParlFigures,
    count_turns,
    parl_figures,
    turns_of_run,
)
from prefect_swarm.store.attempt import Attempt, Decision, Usage
from prefect_swarm.store.step import StepState

Needs = Mapping[str, tuple[str, ...]]


def step(name: str, calls: int = 1, status: str = "succeeded", **fields: object) -> StepState:
    attempt = Attempt(
        number=1,
        tier="worker",
        model="test",
        started_at=0,
        ended_at=1,
        usage=Usage(requests=calls),
    )
    tries = {"attempts": (attempt,) if calls else ()}
    data = {"id": name, "agent": "A", "status": status, **tries, **fields}
    return StepState.model_validate(data)


def replaced(name: str, asked: int) -> StepState:
    decision = Decision(action="REPLAN", rule="r", reason="", usage=Usage(requests=asked))
    made = step(name)
    return made.model_copy(
        update={"attempts": (made.attempts[0].model_copy(update={"decision": decision}),)}
    )


def counted(
    steps: list[StepState], needs: Needs, *turns: OrchestratorTurn
) -> list[tuple[int, tuple[int, ...]]]:
    found = count_turns(steps, needs, turns)
    assert [turn.number for turn in found] == [turn.number for turn in turns]
    return [(turn.orchestrator, turn.groups) for turn in found]


ONE = OrchestratorTurn(1, 1)
ANSWER = OrchestratorTurn(2, 1)


def test_independent_steps_of_a_turn_count_as_the_slowest_of_them() -> None:
    steps = [step("S1", 2), step("S2", 5), step("S3", 1)]
    assert counted(steps, {}, ONE, ANSWER) == [(1, (5,)), (1, ())]


def test_a_turn_whose_steps_need_each_other_has_a_group_for_each_level() -> None:
    steps = [step("S1", 2), step("S2", 5), step("S3", 3), step("S4", 1)]
    needs = {"S3": ("S1",), "S4": ("S3", "S2")}
    assert counted(steps, needs, ONE) == [(1, (5, 3, 1))]


def test_the_example_of_the_docs_is_counted_as_they_say() -> None:
    steps = [step("S1", 1), step("S2", 2), step("S3", 4), step("S4", 3)]
    turns = (OrchestratorTurn(1, 1, ("S1",)), OrchestratorTurn(2, 1, ("S2", "S3", "S4")))
    needs = {"S2": ("S1",), "S3": ("S1",)}
    assert counted(steps, needs, *turns, OrchestratorTurn(3, 1)) == [
        (1, (1,)),
        (1, (4,)),
        (1, ()),
    ]
    found = parl_figures(steps, needs, (*turns, OrchestratorTurn(3, 1)), "completed")
    assert found.critical_steps == 8
    assert found.r_parallel == pytest.approx(1 - 5 / 10)
    assert measure(steps, needs, 3).critical_steps == 8


def test_a_later_turn_begins_anew_whatever_its_steps_need() -> None:
    steps = [step("S1", 2), step("S2", 3), step("S3", 1)]
    turns = OrchestratorTurn(1, 1, ("S1", "S2")), OrchestratorTurn(2, 2, ("S3",))
    assert counted(steps, {"S2": ("S1",), "S3": ("S2",)}, *turns) == [(1, (2, 3)), (2, (1,))]


def test_a_step_that_no_turn_assigned_is_the_first_ones() -> None:
    assert counted([step("S1")], {}, ONE, OrchestratorTurn(2, 1, ("S2",))) == [(1, (1,)), (1, ())]


def test_members_are_subagents_of_the_turn_that_assigned_their_step() -> None:
    group = step("S2", 0)
    members = [step(f"S2[{n}]", n, parent="S2") for n in (1, 2, 3)]
    steps = [step("S1"), group, *members, step("S3")]
    needs = {
        **{member.id: ("S1",) for member in members},
        "S2": ("S1",),
        "S3": tuple(member.id for member in members),
    }
    turns = (OrchestratorTurn(1, 1, ("S1",)), OrchestratorTurn(2, 1, ("S2", "S3")))
    assert counted(steps, needs, *turns) == [(1, (1,)), (1, (3, 1))]


def test_asking_for_another_step_counts_as_the_orchestrators() -> None:
    assert counted([replaced("S1", 2)], {}, ONE) == [(3, (1,))]


def test_a_step_that_never_ran_counts_for_nothing_and_what_needs_it_comes_after_it() -> None:
    steps = [step("S1", 2), step("S2", 0, "skipped"), step("S3", 1)]
    assert counted(steps, {"S2": ("S1",), "S3": ("S2",)}, ONE) == [(1, (2, 1))]


def test_a_run_without_turns_has_one() -> None:
    assert [turn.number for turn in count_turns([step("S1")], {}, ())] == [1]


@pytest.mark.parametrize(
    ("planning", "answering", "later", "numbers"),
    [
        (1, 0, (), [1]),
        (0, 0, (), [1]),
        (1, 1, (), [1, 2]),
        (1, 0, (OrchestratorTurn(2, 1),), [1, 2]),
        (1, 2, (OrchestratorTurn(2, 1),), [1, 2, 3]),
    ],
)
def test_the_request_for_the_answer_is_the_last_turn(
    planning: int, answering: int, later: tuple[OrchestratorTurn, ...], numbers: list[int]
) -> None:
    turns = turns_of_run(planning, answering, later)
    assert [turn.number for turn in turns] == numbers
    assert sum(turn.requests for turn in turns) == planning + answering + sum(
        turn.requests for turn in later
    )


@pytest.mark.parametrize(
    ("steps", "finished"),
    [
        ([step("S1"), step("S2", status="failed")], 0.5),
        ([step("S1"), step("S2", 0, "skipped")], 0.5),
        ([step("S1"), step("S2", 0, "skipped", by_condition=True)], 1),
        ([step("S1"), step("S2", 0, "failed", agent="")], 1),
        ([step("S1", 0), step("S1[1]", parent="S1"), step("S1[2]", 1, "failed", parent="S1")], 0.5),
        ([step("S1", 0)], 1),
        ([], 0),
    ],
    ids=["failed", "skipped", "condition", "joined", "members", "taken over", "nothing"],
)
def test_r_finish_is_the_share_of_assigned_steps_that_succeeded(
    steps: list[StepState], finished: float
) -> None:
    assert parl_figures(steps, {}, (ONE,), "completed").r_finish == finished


def test_r_parallel_is_0_where_one_works_after_another() -> None:
    steps = [step("S1", 2), step("S2", 3)]
    assert parl_figures(steps, {"S2": ("S1",)}, (ONE,), "completed").r_parallel == 0
    assert parl_figures(steps, {}, (ONE,), "completed").r_parallel == pytest.approx(0.4)
    assert parl_figures([], {}, (ONE,), "failed").r_parallel == 0


@pytest.mark.parametrize(
    ("status", "r_perf", "summed", "mixed"),
    [
        ("completed", 1.0, 0.05 + 0.1 + 1.0, 0.05 + 0.9),
        ("partial", 0.3, 0.05 + 0.1 + 0.3, 0.05),
        ("failed", 0.0, 0.05 + 0.1, 0.05),
    ],
)
def test_both_forms_of_the_reward(status: str, r_perf: float, summed: float, mixed: float) -> None:
    found = parl_figures([step("S1"), step("S2")], {}, (ONE,), status)  # pyright: ignore[reportArgumentType]
    assert (found.r_parallel, found.r_finish, found.r_perf) == (0.5, 1, r_perf)
    assert found.summed_reward == pytest.approx(summed)
    assert found.mixed_reward == pytest.approx(mixed)


def test_a_partial_run_is_worth_what_a_partial_attempt_is() -> None:
    assert LearningConfig().partial == PARTIAL_WORTH


def test_figures_are_read_as_they_were_written() -> None:
    finding = CollapseFinding(kind="waited", step="S2", other="S1")
    found = parl_figures([step("S1")], {}, (ONE, ANSWER), "completed", (finding,))
    assert ParlFigures.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (
            CollapseFinding(kind="waited", step="S3", other="S1"),
            "S3 waited for S1 and seems to read nothing of it.",
        ),
        (
            CollapseFinding(kind="late", step="S3", turn=2),
            "S3 was assigned in turn 2 and seems to use nothing that was found before.",
        ),
        (
            CollapseFinding(kind="unread", step="S3"),
            "S3: no step needs its output, and the answer isn't made of it.",
        ),
        (
            CollapseFinding(kind="repeated", step="S3", other="S1"),
            "S3 seems to ask for the same as S1.",
        ),
    ],
)
def test_a_finding_is_a_sentence_that_begins_with_its_step(
    finding: CollapseFinding, words: str
) -> None:
    assert finding.words == words


Run = tuple[list[StepState], dict[str, tuple[str, ...]], tuple[OrchestratorTurn, ...]]


@st.composite
def runs(draw: st.DrawFn, *, independent: bool = False, turns: int = 4) -> Run:
    """Draw steps, what they need, and turns: a step needs those of its turn or earlier ones."""
    steps: list[StepState] = []
    needs: dict[str, tuple[str, ...]] = {}
    found: list[OrchestratorTurn] = []
    number = 0
    for turn in range(1, draw(st.integers(1, turns)) + 1):
        before = [each.id for each in steps]
        names: list[str] = []
        for _ in range(draw(st.integers(0, 5))):
            number += 1
            name = f"S{number}"
            choice = before if independent else [*before, *names]
            needs[name] = tuple(sorted(draw(st.sets(st.sampled_from(choice))))) if choice else ()
            steps.append(step(name, draw(st.integers(0, 9))))
            names.append(name)
        found.append(OrchestratorTurn(turn, draw(st.integers(0, 3)), tuple(names)))
    return steps, needs, tuple(found)


def total(run: Run) -> int:
    return sum(turn.critical_steps for turn in count_turns(*run))


@given(runs())
def test_critical_steps_lie_between_the_longest_path_and_all_requests(run: Run) -> None:
    steps, needs, turns = run
    own = sum(turn.requests for turn in turns)
    assert own <= total(run) <= own + sum(each.calls for each in steps)
    assert measure(steps, needs, own).critical_steps <= total(run)


@given(runs(independent=True, turns=1))
def test_with_one_turn_of_independent_steps_they_are_those_of_the_longest_path(run: Run) -> None:
    steps, needs, turns = run
    own = sum(turn.requests for turn in turns)
    assert total(run) == measure(steps, needs, own).critical_steps


@given(runs(independent=True))
def test_where_each_turn_needs_all_of_the_turn_before_they_are_those_of_the_longest_path(
    run: Run,
) -> None:
    steps, _, turns = run
    needs = {
        name: tuple(each.id for each in steps if each.id in earlier)
        for n, turn in enumerate(turns)
        for name in turn.steps
        for earlier in [{step for before in turns[:n] for step in before.steps}]
    }
    ran = {each.id for each in steps if each.calls}
    own = sum(turn.requests for turn in turns)
    path = measure([each for each in steps if each.id in ran], needs, own)
    assert total((steps, needs, turns)) == path.critical_steps


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_one_step_takes_its_requests_and_the_orchestrators(p: int, calls: int, a: int) -> None:
    run: Run = [step("S1", calls)], {}, turns_of_run(p, a)
    assert total(run) == p + calls + a


@given(runs(), st.data())
def test_another_request_of_a_step_never_makes_them_fewer(run: Run, data: st.DataObject) -> None:
    steps, needs, turns = run
    if not steps:
        return
    place = data.draw(st.integers(0, len(steps) - 1))
    more = [*steps]
    more[place] = step(steps[place].id, steps[place].calls + 1)
    assert total(run) <= total((more, needs, turns)) <= total(run) + 1


@given(runs(), st.data())
def test_a_step_less_never_makes_them_more(run: Run, data: st.DataObject) -> None:
    steps, needs, turns = run
    if not steps:
        return
    gone = data.draw(st.sampled_from(steps)).id
    fewer = [each for each in steps if each.id != gone]
    assert total((fewer, needs, turns)) <= total(run)


@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_steps_says_nothing(run: Run, random: object) -> None:
    steps, needs, turns = run
    mixed = [*steps]
    random.shuffle(mixed)  # pyright: ignore[reportAttributeAccessIssue]
    assert count_turns(mixed, needs, turns) == count_turns(steps, needs, turns)


@given(runs(), st.sampled_from(["completed", "partial", "failed"]))
def test_each_term_is_a_share(run: Run, status: str) -> None:
    found = parl_figures(*run, status)  # pyright: ignore[reportArgumentType]
    assert all(0 <= term <= 1 for term in (found.r_parallel, found.r_finish, found.r_perf))
    assert 0 <= found.mixed_reward <= 1
    assert found.mixed_reward <= found.summed_reward <= 1.2
