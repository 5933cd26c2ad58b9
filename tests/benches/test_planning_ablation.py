"""What a rule of repair is worth: drawn once, repaired without it, and tested against chance."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.tasks.planner.line_format import RULES

PLANNING = Path(__file__).parents[2] / "benches" / "planning"
ODE = "Write an ode to the harbour of Split"
LOST = "1. Poet: Write an ode"
COMPARE = "Compare tea and coffee"
POOR = "1. Expert: Compare tea"
GOOD = """\
1. Tea Expert: Describe tea
2. Coffee Expert: Describe coffee
3. Judge: Compare tea and coffee (needs 1, 2)"""


@pytest.fixture
def ablation(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(PLANNING)
    return import_module("ablation")


def drawing_of(folder: Path, texts: dict[str, list[str]]) -> Any:
    cache = folder / "texts.json"
    cache.write_text(json.dumps(texts), encoding="utf-8")
    return import_module("drawing").Drawing(cache)


def prompts(plan: TaskIR | None) -> list[str]:
    assert plan is not None
    return [step.prompt for step in plan.steps]


@pytest.mark.parametrize(
    ("lost", "won", "chance"),
    [(0, 0, 1), (1, 0, 1), (5, 0, 0.0625), (0, 6, 0.03125), (7, 1, 0.0703125), (3, 3, 1)],
)
def test_the_sign_test_is_exact_and_has_two_sides(
    ablation: Any, lost: int, won: int, chance: float
) -> None:
    assert ablation.sign_test(lost, won) == chance


def test_a_rule_that_is_left_out_repairs_nothing(ablation: Any, tmp_path: Path) -> None:
    drawing = drawing_of(tmp_path, {ODE: [LOST] * 6})
    assert prompts(ablation.chosen(ODE, drawing, RULES)) == [ODE]
    assert prompts(ablation.chosen(ODE, drawing, ())) == ["Write an ode"]


def test_a_first_plan_that_scores_well_is_taken_alone(ablation: Any, tmp_path: Path) -> None:
    drawing = drawing_of(tmp_path, {COMPARE: [GOOD, *[POOR] * 5]})
    assert len(prompts(ablation.chosen(COMPARE, drawing, ()))) == 3


def test_where_it_scores_low_the_best_of_all_is_taken(ablation: Any, tmp_path: Path) -> None:
    drawing = drawing_of(tmp_path, {COMPARE: [POOR, "No plan", GOOD, POOR, GOOD, GOOD]})
    assert len(prompts(ablation.chosen(COMPARE, drawing, ()))) == 3


def test_where_nothing_can_be_read_there_is_no_plan(ablation: Any, tmp_path: Path) -> None:
    drawing = drawing_of(tmp_path, {COMPARE: ["No plan"] * 6})
    assert ablation.chosen(COMPARE, drawing, RULES) is None


def test_the_table_tells_a_rule_from_chance(
    ablation: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask_what_was_asked(plan: Any) -> Any:
        return next(rule for rule in RULES if rule.__name__ == "ask_what_was_asked")(plan)

    def change_nothing(plan: Any) -> Any:
        return plan, ()

    heldout = import_module("heldout")
    odes = [f"Write an ode to port {number}" for number in range(6)]
    steps = [{"key": "a", "needs": [], "must": ["ode", "port"]}]
    lines = [
        json.dumps({"id": ode, "kind": "single", "objective": ode, "steps": steps}) for ode in odes
    ]
    path = tmp_path / "odes.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setitem(heldout.SETS, "third", path)
    monkeypatch.setattr(ablation, "RULES", (ask_what_was_asked, change_nothing))
    drawing = drawing_of(tmp_path, {ode: [LOST] * 6 for ode in odes})
    assert ablation.table(["third"], drawing).splitlines()[2:] == [
        "| no rule | 6, 1.000, 6, 6 |  |  |",
        "| `ask_what_was_asked` | 6, 1.000, 0, 6 | 6 | 1, 0.031, 1 |",
        "| `change_nothing` | 6, 1.000, 6, 6 | 0 | 1, 1, 1 |",
        "| all whose lack is chance | 6, 1.000, 6, 6 | 0 | 1, 1, 1 |",
    ]


def test_a_file_that_keeps_no_texts_is_named(ablation: Any, tmp_path: Path) -> None:
    cache = tmp_path / "texts.json"
    cache.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"texts\.json keeps no texts"):
        import_module("drawing").Drawing(cache)
