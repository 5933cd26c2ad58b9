"""The gates of a step follow from its kind; the plan and a person change them."""

from __future__ import annotations

import pytest
from prefect_swarm.gates import DEFAULT_GATES, gate_name, gates, is_required, select_gates
from prefect_swarm.plan.task_ir import Output

PYTHON = Output(kind="python")


def test_every_default_is_a_gate_for_that_kind() -> None:
    for kind, names in DEFAULT_GATES.items():
        for name in names:
            assert kind in gates()[gate_name(name)].kinds


def test_a_text_gets_the_gates_that_have_something_to_look_at() -> None:
    assert select_gates(Output()) == ("repetition",)
    wanted = Output(max_words=9, sections=("A",), form="list", citations=True)
    assert select_gates(wanted) == DEFAULT_GATES["text"]


@pytest.mark.parametrize(
    ("plan", "person", "names"),
    [
        (None, None, ("format", "lint", "unit", "integration")),
        ((), None, ()),
        (("lint",), None, ("lint",)),
        (("+typecheck?",), None, ("format", "lint", "unit", "integration", "typecheck?")),
        (("-lint", "-format"), None, ("unit", "integration")),
        (None, ("-unit",), ("format", "lint", "integration")),
        (("lint",), ("+unit", "-lint"), ("unit",)),
        (None, ("+lint?",), ("format", "unit", "integration", "lint?")),
        (("lint", "lint?"), None, ("lint?",)),
    ],
)
def test_names_replace_and_signs_change(
    plan: tuple[str, ...] | None, person: tuple[str, ...] | None, names: tuple[str, ...]
) -> None:
    assert select_gates(PYTHON, plan, person) == names


def test_a_question_mark_makes_it_optional() -> None:
    assert (gate_name("+lint?"), is_required("+lint?")) == ("lint", False)
    assert (gate_name("lint"), is_required("lint")) == ("lint", True)
