"""Plans of completed runs become pairs to train with, and bad ones are left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.memory.episode import Episode
from prefect_swarm.parl.memory_pairs import pairs_of
from prefect_swarm.tasks.planner.line_format import read_lines

OBJECTIVE = "Describe iron, then write a song from it"
PLAN = "1. Chemist: Describe iron\n2. Bard: Write a song from the description (needs 1)"


def episode(step: str = "S1", run: str = "r1", attempt: int = 1, **changes: Any) -> Episode:
    first = step == "S1"
    given: dict[str, Any] = {
        "run": run,
        "step": step,
        "attempt": attempt,
        "objective": OBJECTIVE,
        "prompt": "Describe iron" if first else "Write a song from the description",
        "persona": "Chemist" if first else "Bard",
        "tier": "worker",
        "model": "test",
        "succeeded": True,
        "started_at": 1.0,
        "ended_at": 2.0,
        "duration_s": 1.0,
        "reward": 1.0,
        "upstream": () if first else ("S1",),
        "downstream": ("S2",) if first else (),
    }
    return Episode(**given | changes)


def run_of(run: str = "r1", **changes: Any) -> list[Episode]:
    return [episode("S1", run), episode("S2", run, **changes)]


def pairs(episodes: Iterable[Episode]) -> tuple[tuple[str, str], ...]:
    return pairs_of(episodes).pairs


def test_a_completed_run_is_a_pair() -> None:
    assert pairs_of(run_of()).pairs == ((OBJECTIVE, PLAN),)
    assert not pairs_of(run_of()).left_out


def test_the_pair_is_read_as_a_plan() -> None:
    ((objective, plan),) = pairs(run_of())
    assert [step.depends_on for step in read_lines(plan, objective).steps] == [(), ("S1",)]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"succeeded": False}, "a step of it failed"),
        ({"revision": 1}, "a step of it was replaced"),
        ({"downstream": ("S3",)}, "a step of it was never begun"),
        ({"step": "S2[1]"}, "lines can't say its plan"),
        ({"prompt": "Sing … [4000 more characters]"}, "a text of it is kept in part"),
        ({"persona": "Bard: the old one"}, "lines can't say its plan"),
        ({"attempt": 1, "objective": OBJECTIVE, "upstream": ("S2",)}, "lines can't say its plan"),
    ],
)
def test_a_run_that_is_no_example_is_left_out(changes: dict[str, Any], why: str) -> None:
    step = changes.pop("step", "S2")
    found = pairs_of([episode("S1"), episode(step, **changes)])
    assert not found.pairs
    assert found.left_out == {why: 1}


def test_a_step_that_succeeded_in_the_end_is_no_fault() -> None:
    failed = episode("S2", attempt=1, succeeded=False)
    assert pairs([episode("S1"), failed, episode("S2", attempt=2)]) == ((OBJECTIVE, PLAN),)


def test_a_run_of_many_attempts_is_left_out() -> None:
    tries = [episode("S2", attempt=n, succeeded=n == 6) for n in range(1, 7)]
    assert pairs_of([episode("S1"), *tries]).left_out == {"its steps took many attempts": 1}


def test_of_an_objective_the_plan_with_the_fewest_attempts_stays() -> None:
    again = [
        episode("S1", "r2"),
        episode("S2", "r2", succeeded=False, prompt="Sing"),
        episode("S2", "r2", attempt=2, prompt="Sing"),
    ]
    for order in ([*run_of(), *again], [*again, *run_of()]):
        assert pairs(order) == ((OBJECTIVE, PLAN),)


def test_of_equals_the_newest_stays() -> None:
    newer = [episode("S1", "r2"), episode("S2", "r2", prompt="Sing of iron")]
    ((_, plan),) = pairs([*run_of(), *newer])
    assert "Sing of iron" in plan


def test_a_persona_of_the_memory_has_a_name_as_lines_have_it() -> None:
    ((_, plan),) = pairs(run_of(persona="song-writer"))
    assert "2. Song Writer: Write" in plan


def test_an_objective_is_required() -> None:
    found = pairs_of([episode(objective=" ", downstream=())])
    assert found.left_out == {"it has no objective": 1}


@given(st.permutations([*run_of(), *run_of("r2", succeeded=False), *run_of("r3", revision=2)]))
def test_the_order_of_attempts_changes_nothing(episodes: list[Episode]) -> None:
    found = pairs_of(episodes)
    assert found.pairs == ((OBJECTIVE, PLAN),)
    assert sum(found.left_out.values()) == 2
