"""A plan that code gives is bounded as one in a file is, and says which value is wrong."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import PlanError
from prefect_swarm.inputs.reading import read_paths
from prefect_swarm.plan.output import expression_problem
from prefect_swarm.plan.task_ir import load_plan, parse_plan
from prefect_swarm.text import count_in

IDS = [
    "S\u00b2",
    "S\u0661",
    "S\uff11",
    "S\u2460",
    "S99999999999999999999",
    "S" + "9" * 5_000,
    "S01",
    "S0",
    "s1",
    "S1\n",
    "S1\0",
    " S1",
    "S-1",
    "S+1",
    "S1.0",
    "S1_0",
    "\u04051",
    "S\u202e1",
    "S",
    "1",
]


def step(**fields: Any) -> dict[str, Any]:
    agents = [{"name": "Ann", "system_prompt": "You do it."}]
    own = {"id": "S1", "agent": "Ann", "prompt": "Do it", **fields}
    return {"objective": "Do it", "agents": agents, "steps": [own]}


def refusal(data: object) -> str:
    with pytest.raises(PlanError) as caught:
        parse_plan(data)
    assert caught.value.fix
    return caught.value.problem


@pytest.mark.parametrize("name", IDS, ids=ascii)
@pytest.mark.attack("parsers")
def test_what_looks_like_a_steps_name_is_none(name: str) -> None:
    found = refusal(step(id=name))
    assert found.startswith("The plan breaks a rule: step number 1.id: String should match")
    assert len(found) < 500
    assert found.isprintable()


@pytest.mark.parametrize("text", ["\u00b2", "\u0661", "9" * 19, "9" * 5_000, "", "-1", "+1", " 1"])
@pytest.mark.attack("parsers")
def test_what_is_no_count_is_none(text: str) -> None:
    assert count_in(text) is None
    assert count_in("007") == 7


def in_itself() -> dict[str, Any]:
    data = step()
    data["inputs"] = data
    return data


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(5_000):
        value = [value]
    return value


def schema(value: object) -> dict[str, Any]:
    return step(output={"kind": "json", "schema": value})


def example(**fields: Any) -> dict[str, Any]:
    whole = {"call": "f(1)", "gives": 1, **fields}
    return step(output={"kind": "python", "examples": [whole]})


VALUES = {
    "a plan in itself": in_itself(),
    "lists in lists": deep(),
    "a schema in lists": schema({"enum": deep()}),
    "a schema that isn't a number": schema({"minimum": math.nan}),
    "a schema of thousands of digits": schema({"minimum": 10**5_000}),
    "a schema of an object": schema({"enum": [object()]}),
    "a time of thousands of digits": step(timeout_s=10**5_000),
    "a time without end": step(timeout_s=math.inf),
    "an example of thousands of digits": example(gives=10**5_000),
    "an example in lists": example(gives=deep()),
    "bytes": b"{}",
    "a number": 7,
}


@pytest.mark.parametrize("data", VALUES.values(), ids=VALUES)
@pytest.mark.attack("parsers")
def test_what_code_gives_is_a_plan_or_a_plan_error(data: object) -> None:
    assert len(refusal(data)) < 1_000


@pytest.mark.parametrize(
    "text",
    [
        "f(" + "-" * 15_000 + "1)",
        "f" + ".b" * 9_000,
        "1" + "+1" * 9_000 + "+f",
        "lambda:" * 2_000 + "f",
        "f(" + "9" * 5_000 + ")",
        "f(" + "1, " * 10_000 + ")",
        "f(\0)",
        "f('\ud800')",
        "f" + "(1)" * 6_000,
        "f if f else " * 1_000 + "f",
    ],
    ids=lambda text: ascii(text[:20]),
)
@pytest.mark.attack("parsers")
def test_an_expression_that_is_too_much_is_none(text: str) -> None:
    assert "is not a Python expression" in expression_problem(text)


@pytest.mark.parametrize("name", ["a\0b", "a" * 5_000, "\ud800", "/dev/zero"], ids=ascii)
@pytest.mark.attack("parsers")
def test_a_file_that_is_none_is_a_plan_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prefect_swarm.files._LARGEST", 1 << 16)
    with pytest.raises(PlanError) as caught:
        load_plan(Path(name))
    assert caught.value.fix


@pytest.mark.attack("parsers")
def test_a_file_whose_name_is_no_utf8_is_given_all_the_same(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"a\xff.txt")).write_text("Hello")
    (name,) = read_paths([tmp_path])
    assert name.encode()
