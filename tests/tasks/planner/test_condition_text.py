"""Conditions that are written as text: what is read, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.plan.conditions import Condition, holds
from prefect_swarm.plan.pointers import MISSING
from prefect_swarm.tasks.planner.condition_text import (
    ConditionTextError,
    path_parts,
    read_condition,
)

OUTPUTS: dict[str, Any] = {"S1": {"kind": "bug", "count": 3, "tags": [], "ok": True, "by": None}}


def value_of(step: str | None) -> object:
    return OUTPUTS.get(step or "", MISSING)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("S1.kind == 'bug'", True),
        ('S1.kind === "idea"', False),
        ("S1.kind = bug", True),
        ("'bug' == S1.kind", True),
        ("S1.kind is bug", True),
        ("S1.kind is not bug", False),
        ("S1['kind'] != 'bug'", False),
        ("S1./kind == 'bug'", True),
        ("S1.kind in ['idea', 'bug']", True),
        ("S1.kind not in ['idea', 'bug']", False),
        ("S1.count > 2 and S1.count < 4", True),
        ("S1.count >= 3 && S1.count <= 3", True),
        ("3 < S1.count", False),
        ("S1.count > 5 || S1.ok == true", True),
        ("S1.count > 5 or S1.ok == true and S1.kind == idea", False),
        ("(S1.count > 2 or S1.ok == false) and not (S1.kind == 'idea')", True),
        ("!(S1.ok == true)", False),
        ("S1.tags is empty", True),
        ("len(S1.tags) == 0", True),
        ("S1.tags.length > 0", False),
        ("S1.tags == []", True),
        ("S1.by == null", True),
        ("S1.by exists", False),
        ("S1.missing not exists", True),
        ("S1.kind matches '^b'", True),
        ("{{ S1.kind == 'bug' }}", True),
        ("${S1.ok == True}", True),
    ],
)
def test_a_text_says_what_it_says_elsewhere(text: str, expected: object) -> None:
    condition = Condition.model_validate(read_condition(text))
    assert holds(condition, value_of) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bug",
        "S1.kind",
        "S1.kind ==",
        "== 'bug'",
        "S1.kind == S1.by",
        "'a' == 'b'",
        "'x' in S1.tags",
        "S1.count + 1 > 2",
        "S1.kind > 'bug'",
        "len(S1.tags) > 3",
        "S1.kind == 'bug' S1.ok == true",
        "(S1.ok == true",
        "S1.ok == true)",
        "__import__('os').system('true')",
        "S1.kind == 'bug",
        "S1.kind in []",
        "S1.ok == true " + "and S1.ok == true " * 100,
        "(" * 5000,
    ],
)
def test_what_has_no_one_meaning_is_refused_with_the_form_that_is_due(text: str) -> None:
    with pytest.raises(ConditionTextError, match=r'write it as an object such as \{"step"'):
        read_condition(text)


@given(st.text(st.sampled_from("S1.kindor()[]'\"=!<>&| ,$/{}2"), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read_condition(text)
    except ConditionTextError:
        return
    assert isinstance(found, dict)


@given(st.text(max_size=30).filter(lambda text: "'" not in text and "\\" not in text))
def test_a_text_in_marks_is_that_text(value: str) -> None:
    assert read_condition(f"S1.a == '{value}'") == {"step": "S1", "at": "/a", "is": value}
    written = json.dumps(value, ensure_ascii=False)
    if "\\" not in written:
        assert read_condition(f"S1.a == {written}") == {"step": "S1", "at": "/a", "is": value}


def test_what_is_true_or_false_may_stand_alone() -> None:
    def is_boolean(step: str, at: str) -> bool:
        return (step, at) == ("S1", "/ok")

    assert read_condition("S1.ok", is_boolean) == {"step": "S1", "at": "/ok", "is": True}
    with pytest.raises(ConditionTextError):
        read_condition("S1.kind", is_boolean)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("$.papers[0].title", ["papers", "0", "title"]),
        ("papers[*]", ["papers", "*"]),
        ("papers[]", ["papers", "*"]),
        ("/papers/0", ["papers", "0"]),
        ("a['b.c'].d", ["a", "b.c", "d"]),
        ("", []),
    ],
)
def test_a_path_has_parts(text: str, parts: list[str]) -> None:
    assert path_parts(text) == parts
