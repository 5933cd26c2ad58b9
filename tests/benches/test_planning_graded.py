"""A set that was planned: its table, its JSON, and which planners there are."""

import asyncio
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.tasks.planner.line_format import read_lines

PLANNING = Path(__file__).parents[2] / "benches" / "planning"
PLANS = {
    "Write an ode": "1. Poet: Write an ode",
    "Sing, then rest": "1. Singer: Sing\n2. Guard: Rest",
    "Name a fish and a bird": "",
}


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(PLANNING)
    return import_module("graded")


@pytest.fixture
def planning(graded: Any) -> Any:
    return import_module("planner")


def expected(kind: str, objective: str, *steps: tuple[str, str]) -> Any:
    keys = [{"key": item, "needs": needs.split(), "must": [item]} for item, needs in steps]
    wanted = import_module("heldout").Wanted
    return wanted(id=objective, kind=kind, objective=objective, steps=keys)


@pytest.fixture
def results(graded: Any, planning: Any) -> list[Any]:
    async def write(objective: str) -> Any:
        lines = PLANS[objective]
        plan = read_lines(lines, objective) if lines else None
        return planning.Planned(plan, "" if plan else "1. ", samples=2, tokens=30)

    wanted = [
        expected("serial", "Write an ode", ("ode", "")),
        expected("serial", "Sing, then rest", ("sing", ""), ("rest", "sing")),
        expected("lanes", "Name a fish and a bird", ("fish", ""), ("bird", "")),
    ]
    return asyncio.run(graded.measure_graded(wanted, write, show=False))


def test_the_table_has_a_row_for_each_kind_and_one_for_all(graded: Any, results: list[Any]) -> None:
    rows = [row.rsplit("|", 2)[0] for row in graded.graded_table(results).splitlines()[2:]]
    assert rows == [
        "| serial | 2 | 2 | 1 | 0.00 | 1.00 | 2 | 1 of 2 | 0.00 | 30 ",
        "| lanes | 1 | 0 | 0 | 0.00 | 0.00 | 0 |  | 0.00 | 30 ",
        "| **all** | 3 | 2 | 1 | 0.00 | 0.67 | 2 | 1 of 2 | 0.00 | 30 ",
    ]


def test_so_many_objectives_as_asked_for_are_planned_at_once(graded: Any, planning: Any) -> None:
    under_way: list[str] = []
    most = 0

    async def write(objective: str) -> Any:
        nonlocal most
        under_way.append(objective)
        most = max(most, len(under_way))
        await asyncio.sleep(0)
        under_way.remove(objective)
        return planning.Planned(None, "1. ")

    wanted = [expected("serial", f"Sing {number} songs", ("sing", "")) for number in range(2, 7)]
    results = asyncio.run(graded.measure_graded(wanted, write, show=False, at_once=2))
    assert most == 2
    assert [result.wanted for result in results] == wanted


def test_the_json_has_every_plan_and_its_grade(graded: Any, results: list[Any]) -> None:
    data = json.loads(graded.to_json(results, planner="grammar"))
    assert data["planner"] == "grammar"
    assert data["all"]["exact"] == data["kinds"]["serial"]["exact"] == 1
    assert [plan["plan"] for plan in data["plans"]] == [
        "1. Poet: Write an ode",
        PLANS["Sing, then rest"],
        "1. ",
    ]
    assert [plan["grade"]["valid"] for plan in data["plans"]] == [True, True, False]


def test_saved_plans_are_graded_as_they_were(graded: Any, results: list[Any]) -> None:
    wanted = [result.wanted for result in results]
    again = graded.from_json(graded.to_json(results), wanted)
    assert [result.grade for result in again] == [result.grade for result in results]
    assert len(graded.from_json(graded.to_json(results), wanted[:2])) == 2


def test_an_unknown_planner_is_named(planning: Any) -> None:
    with pytest.raises(InputError, match="no planner 'guess'"):
        planning.planner("guess")


def test_an_adapter_is_for_the_planners_that_apply_it(planning: Any) -> None:
    with pytest.raises(InputError, match="'grammar' takes no adapter"):
        planning.planner("grammar", adapter=Path("a.gguf"))


def test_an_adapter_that_is_not_there_is_refused(planning: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.gguf"):
        planning.planner("adapter", adapter=tmp_path / "none.gguf")
