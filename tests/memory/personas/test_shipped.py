"""The shipped personas: valid, short, no two alike, none answers to another's name."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest
from prefect_swarm.memory.personas.model import (
    SHIPPED,
    Persona,
    fits,
    names_of,
    shipped_personas,
    skill,
    spelling,
)
from prefect_swarm.plan.output import OutputKind
from prefect_swarm.plan.task_ir import TaskType

ALL = shipped_personas()
each_persona = pytest.mark.parametrize("persona", ALL, ids=lambda persona: persona.name)


def kinds(persona: Persona) -> set[str]:
    return {pattern.split("/")[1] for pattern in persona.task_types}


def test_every_file_is_read() -> None:
    assert [persona.name for persona in ALL] == sorted(file.stem for file in SHIPPED.iterdir())


@each_persona
def test_the_title_is_the_name_in_words(persona: Persona) -> None:
    assert spelling(persona.title) == spelling(persona.name)


@each_persona
def test_instructions_are_short_and_of_one_paragraph(persona: Persona) -> None:
    assert 300 <= len(persona.instructions) <= 600
    assert "\n" not in persona.instructions


@each_persona
def test_instructions_begin_with_what_the_persona_does(persona: Persona) -> None:
    assert re.match(r"You (?:\w+ ){1,8}", persona.instructions)


@each_persona
def test_nothing_is_told_twice(persona: Persona) -> None:
    sentences = re.split(r"(?<=[.:;])\s+", persona.instructions.casefold())
    assert max(Counter(sentences).values()) == 1


@pytest.mark.parametrize(
    ("kind", "form"),
    [("python", "```python"), ("shell", "```sh"), ("json", "JSON"), ("files", "path on the line")],
)
def test_who_writes_what_is_read_by_machines_is_told_its_form(kind: str, form: str) -> None:
    asked = [persona for persona in ALL if kind in kinds(persona)]
    assert asked
    assert all(form in persona.instructions for persona in asked)


@pytest.mark.parametrize("task", TaskType.__args__)
@pytest.mark.parametrize("kind", OutputKind.__args__)
def test_every_task_type_has_a_persona(task: str, kind: str) -> None:
    assert any(fits(persona, f"{task}/{kind}") for persona in ALL)


@each_persona
def test_a_persona_writes_one_kind_of_output(persona: Persona) -> None:
    assert len(kinds(persona)) == 1


def test_no_two_personas_are_alike() -> None:
    for first, second in combinations(ALL, 2):
        mine, theirs = (set(spelling(p.instructions).split()) for p in (first, second))
        assert len(mine & theirs) / len(mine | theirs) < 0.4, (first.name, second.name)


def test_no_two_personas_answer_to_the_same_name() -> None:
    spellings = Counter(
        spelling(n) for p in ALL for n in {spelling(n): n for n in names_of(p)}.values()
    )
    assert [name for name, times in spellings.items() if times > 1] == []


def test_no_two_personas_answer_to_the_same_skill() -> None:
    for first, second in combinations(ALL, 2):
        mine, theirs = ({skill(name) for name in names_of(p)} for p in (first, second))
        assert not mine & theirs, (first.name, second.name)


@each_persona
def test_every_name_says_a_skill(persona: Persona) -> None:
    assert all(map(skill, names_of(persona)))


@each_persona
def test_aliases_are_names_that_a_planner_can_write(persona: Persona) -> None:
    for alias in persona.aliases:
        words = alias.removeprefix("* ").split()
        assert 1 <= len(words) <= 4
        assert all(word[0].isupper() and len(word) <= 16 for word in words)
