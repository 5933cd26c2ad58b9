"""Advice on a step follows from what similar steps have shown, and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from learnt import fold
from prefect_swarm.memory.episode import Episode, LogEntry
from prefect_swarm.memory.learning.advise import (
    LESSONS_CHARS,
    StepQuestion,
    advise,
    anticipate_agents,
)
from prefect_swarm.memory.personas.model import shipped_personas
from prefect_swarm.memory.personas.registry import invent, registry_of
from prefect_swarm.plan.compile import StepRecall

QUESTION = StepQuestion(
    step="S1",
    prompt="Write a function that adds two numbers",
    task_type="code/python",
    agent="Adder",
    system_prompt="You add.",
    ladder=("worker",),
)


def attempt(position: int, persona: str, succeeded: bool, **fields: object) -> LogEntry:
    return LogEntry(
        position,
        Episode.model_validate(
            {
                "run": f"run-{position}",
                "step": "S1",
                "attempt": 1,
                "prompt": f"Write a function that adds {position} numbers",
                "task_type": "code/python",
                "output": "python",
                "persona": persona,
                "tier": "worker",
                "model": "demo",
                "succeeded": succeeded,
                "category": None if succeeded else "LOGIC",
                "error": "" if succeeded else "it gave 3",
                "decision": None if succeeded else "FAIL",
                "started_at": 1.0,
                "ended_at": 2.0,
                "duration_s": 1.0,
                "reward": 1.0 if succeeded else -0.5,
                "excerpt": "def add(): ...",
            }
            | fields
        ),
    )


def advise_on(
    entries: Sequence[LogEntry], similarity: float = 0.9, question: StepQuestion = QUESTION
) -> StepRecall:
    return advise(
        question,
        [(entry, similarity) for entry in entries],
        fold(entries),
        anticipate_agents([question], registry_of((), shipped_personas(), ())),
        lambda _first, _second: 0.5,
        run="run",
    )


def test_nothing_known_leaves_the_step_as_it_was_planned() -> None:
    found = advise_on([])
    assert (found.agent, found.persona, found.tier, found.by) == (
        "Adder",
        "adder",
        "worker",
        "rules",
    )
    assert (found.instructions, found.lesson, found.memories, found.expected_s) == (
        "",
        "",
        (),
        None,
    )


def test_who_does_clearly_better_gets_the_step_with_their_own_instructions() -> None:
    entries = [attempt(n, "adder", False) for n in range(1, 9)]
    entries += [attempt(n, "python-engineer", True) for n in range(9, 17)]
    found = advise_on(entries)
    engineer = next(known for known in shipped_personas() if known.name == "python-engineer")
    assert (found.persona, found.by) == ("python-engineer", "memory")
    assert (found.agent, found.instructions) == (engineer.title, engineer.instructions)
    assert "next best" in found.why
    assert all(
        "python-engineer succeeded" in memory.why
        for memory in found.memories
        if "persona" in memory.why
    )


def test_who_a_person_has_named_does_the_step_whoever_does_better() -> None:
    entries = [attempt(n, "adder", False) for n in range(1, 9)]
    entries += [attempt(n, "python-engineer", True) for n in range(9, 17)]
    assert advise_on(entries).agent != "Adder"
    found = advise_on(entries, question=replace(QUESTION, named=True))
    assert (found.agent, found.persona, found.instructions) == ("Adder", "adder", "")


def test_attempts_of_agents_with_a_personas_name_count_for_the_persona() -> None:
    entries = [attempt(n, "adder", False) for n in range(1, 9)]
    entries += [attempt(n, "Python Developer", True) for n in range(9, 17)]
    assert advise_on(entries).persona == "python-engineer"
    planned = replace(QUESTION, agent="Python Developer", system_prompt="You write Python.")
    found = advise_on(entries, question=planned)
    assert (found.persona, found.instructions) == ("Python Developer", "")


def test_what_goes_well_is_not_changed_to_find_something_out() -> None:
    found = advise_on([attempt(n, "adder", True) for n in range(1, 9)])
    assert (found.persona, found.lesson) == ("adder", "")
    assert found.expected_s == 1.0


def test_what_its_expected_time_rests_on_is_named() -> None:
    same = attempt(1, "adder", True)
    others = [
        attempt(2, "adder", False, category="EARLY_ABORT"),
        attempt(3, "adder", True, task_type="chat/text"),
        attempt(4, "adder", True, tier="coder"),
        attempt(5, "counter", True),
    ]
    found = advise_on([same, *others[:1]])
    assert [(memory.run, memory.uses, memory.why) for memory in found.memories] == [
        ("run-1", ("time",), "time: adder succeeded on worker in 1.0 s")
    ]
    timed = {memory.run for memory in advise_on([same, *others]).memories if "time" in memory.uses}
    assert timed == {"run-1", "run-5"}
    assert not advise_on([same], similarity=0.2).memories


def no_similarity(_first: Episode, _second: Episode) -> float:
    return 0.0


def test_an_agent_has_one_name_for_each_kind_of_output_whatever_succeeds() -> None:
    registry = registry_of((), shipped_personas(), ())
    questions = [QUESTION, replace(QUESTION, step="S2", task_type="code/shell")]
    first, second = (
        advise(
            question, (), fold(()), anticipate_agents(questions, registry), no_similarity, run="run"
        )
        for question in questions
    )
    assert first.persona == "adder"
    assert second.persona == "adder-shell"
    # Only the second step succeeded, so only it is entered.
    entered = invent(registry, "Adder", "You add.", "code/shell", at=1.0, known_as=second.persona)
    assert entered is not None
    later = anticipate_agents(questions, registry.with_invented(entered))
    names = [
        advise(question, (), fold(()), later, no_similarity, run="later").persona
        for question in questions
    ]
    assert names == ["adder", second.persona]


def test_a_step_whose_like_mostly_fail_is_told_what_happened_within_bounds() -> None:
    found = advise_on([attempt(n, "adder", n == 4) for n in range(1, 9)])
    assert 0 < len(found.lesson) <= LESSONS_CHARS
    assert "it gave 3" in found.lesson
    assert any("lesson" in memory.why for memory in found.memories)


def test_where_nothing_like_it_ever_worked_nothing_is_told() -> None:
    assert advise_on([attempt(n, "adder", False) for n in range(1, 9)]).lesson == ""


def test_what_is_only_faintly_similar_is_not_told() -> None:
    found = advise_on([attempt(n, "adder", n == 4) for n in range(1, 9)], similarity=0.4)
    assert found.lesson == ""


def test_what_is_only_related_is_no_reason_to_try_somebody_else() -> None:
    entries = [attempt(n, "adder", False) for n in range(1, 30)]
    assert advise_on(entries, similarity=0.4).by == "rules"
    assert advise_on(entries, similarity=0.4).persona == "adder"


def test_a_step_that_succeeded_in_the_end_did_well() -> None:
    entries = [
        attempt(n, "adder", n % 3 == 0, run=f"run-{(n - 1) // 3}", attempt=(n - 1) % 3 + 1)
        for n in range(1, 10)
    ]
    assert advise_on(entries).persona == "adder"
    assert advise_on(entries).by == "rules"


@pytest.mark.parametrize(("passed", "is_told"), [(3, True), (5, True), (6, False), (9, False)])
def test_a_step_whose_like_often_fail_at_first_is_told_what_worked(
    passed: int, is_told: bool
) -> None:
    first = [attempt(n, "adder", n <= passed) for n in range(1, 10)]
    later = [attempt(n + 10, "adder", True, run=f"run-{n}", attempt=2) for n in range(1, 10)]
    assert bool(advise_on([*first, *later]).lesson) is is_told


def test_two_first_attempts_are_too_few_to_be_told_something() -> None:
    first = [attempt(n, "adder", False) for n in (1, 2)]
    later = [attempt(n + 10, "adder", True, run=f"run-{n}", attempt=2) for n in (1, 2)]
    assert advise_on([*first, *later]).lesson == ""


def test_what_was_told_and_did_not_help_is_not_told_again() -> None:
    before = [attempt(n, "adder", n == 2) for n in range(1, 5)]
    used = [entry.episode.key for entry in before]
    assert advise_on([*before, attempt(5, "adder", False)]).lesson
    assert advise_on([*before, attempt(5, "adder", False, used=used)]).lesson == ""


def test_nobody_is_tried_on_a_text_who_never_did_one_like_it() -> None:
    question = replace(QUESTION, task_type="chat/text")
    entries = [
        attempt(n, "adder", False, task_type="chat/text", output="text") for n in range(1, 30)
    ]
    assert advise_on(entries, question=question).persona == "adder"


def test_the_same_memory_gives_the_same_advice() -> None:
    entries = [attempt(n, "adder", n % 3 == 0) for n in range(1, 20)]
    assert advise_on(entries) == advise_on(entries)


def test_a_persona_that_is_retired_or_unknown_is_nobodys_choice() -> None:
    entries = [attempt(n, "adder", False) for n in range(1, 9)]
    entries += [attempt(n, "gone", True) for n in range(9, 17)]
    assert advise_on(entries).persona != "gone"
