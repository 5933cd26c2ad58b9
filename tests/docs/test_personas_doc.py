"""docs/reference/personas.md lists the personas that are shipped, and its examples work."""

from __future__ import annotations

import inspect
import re
import sqlite3
from pathlib import Path
from typing import get_args

import pytest
from docs_pages import blocks, rows, sections
from prefect_swarm.memory.personas import registry as registry_acts
from prefect_swarm.memory.personas.model import Persona, load_persona, shipped_personas, spelling
from prefect_swarm.memory.personas.registry import Action
from prefect_swarm.memory.personas.review import ReviewPolicy
from prefect_swarm.memory.personas.store import PersonaStore

PARTS = sections("personas.md")


def test_every_shipped_persona_is_listed_with_what_it_is_for() -> None:
    documented = [(row[0], row[1]) for row in rows(PARTS["Shipped"])]
    assert documented == [
        (persona.name, ", ".join(persona.task_types)) for persona in shipped_personas()
    ]


def test_the_other_names_are_theirs() -> None:
    by_name = {persona.name: persona for persona in shipped_personas()}
    for row in rows(PARTS["Shipped"]):
        theirs = {spelling(alias.removeprefix("* ")) for alias in by_name[row[0]].aliases}
        assert {spelling(name) for name in row[3].split(",")} <= theirs


def test_the_example_is_a_persona(tmp_path: Path) -> None:
    (example,) = blocks(PARTS["One of your own"], "yaml")
    (file := tmp_path / "poet.yaml").write_text(example, encoding="utf-8")
    assert load_persona(file).title == "Poet"


def test_every_field_is_explained_once() -> None:
    documented = [row[0] for row in rows(PARTS["One of your own"])]
    assert sorted(documented) == sorted(Persona.model_fields)


def test_every_act_of_a_persons_is_explained_once() -> None:
    documented = [row[0] for row in rows(PARTS["Promoted and retired"]) if len(row) == 2]
    assert sorted(documented) == sorted(set(get_args(Action)) - {"invent"})
    offered = {
        name for name in registry_acts.__all__ if inspect.isfunction(getattr(registry_acts, name))
    }
    assert {*documented, "invent"} == offered - {"registry_of"}


def test_the_figures_are_the_policys() -> None:
    policy = ReviewPolicy()
    text = PARTS["Promoted and retired"]
    assert f"after {policy.samples} attempts" in text
    assert f"over {policy.samples * 2} attempts since" in text
    assert f"{policy.margin * 100:g} points below" in text
    assert f"{policy.deviations:g} standard deviations" in text
    assert f"latest {policy.kept} episodes" in " ".join(PARTS["Where it is kept"].split())


def test_the_program_and_the_query_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = blocks(PARTS["Promoted and retired"], "python")
    exec(compile(program, "docs/reference/personas.md", "exec"), {})  # noqa: S102
    assert "judge shipped active undoes: retire" in capsys.readouterr().out
    file = tmp_path / "swarm-home" / "memory" / "personas.sqlite"
    (shell,) = blocks(PARTS["Where it is kept"], "sh")
    query = re.search(r'"(SELECT .*)"', shell, re.DOTALL)
    assert query is not None
    db = sqlite3.connect(file)
    documented = [row[1:5] for row in db.execute(query[1])]
    db.close()
    assert documented == [
        ("judge", "active", "retired", "person"),
        ("judge", "retired", "active", "person"),
    ]
    PersonaStore(file).close()
