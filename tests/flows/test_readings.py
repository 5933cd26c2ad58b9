"""Readings: which steps read which inputs, and which are sent to many instances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flow_runs import plan_of
from picture_files import picture_bytes
from prefect_swarm.flows.readings import (
    input_lines,
    input_tokens,
    input_words,
    readings,
    repeated_lines,
)
from prefect_swarm.flows.run_inputs import with_inputs
from prefect_swarm.inputs.pictures import made_picture, picture_text
from prefect_swarm.models.names import FREE, Price
from prefect_swarm.plan.compile import CompiledPlan, compile_plan

TEXTS = {"a.md": "x" * 40, "b.md": "y" * 40, "rows.csv": "n\n1\n2\n"}
MODELS = {"worker": "m", "coder": "m", "architect": "m"}


def plan(*steps: dict[str, Any], inputs: dict[str, str] = TEXTS) -> CompiledPlan:
    return compile_plan(with_inputs(plan_of(*steps), inputs))


def test_a_step_reads_what_it_names_or_all_where_it_needs_nothing() -> None:
    made = plan({"id": "S1"}, {"id": "S2", "inputs": ["a.md"]}, {"id": "S3", "depends_on": ["S1"]})
    assert [(each.step, each.shared) for each in readings(made)] == [
        ("S1", ("a.md", "b.md", "rows.csv")),
        ("S2", ("a.md",)),
    ]


def test_an_instance_reads_its_own_input_or_row_and_what_the_step_names() -> None:
    files = {"id": "S1", "for_each": {"items": "*.md"}, "inputs": ["rows.csv"]}
    rows = {"id": "S2", "for_each": {"items": "rows.csv"}}
    first, second = readings(plan(files, rows))
    assert (first.own, first.shared, first.count) == (("a.md", "b.md"), ("rows.csv",), 2)
    assert (second.rows, second.shared, second.count) == ("rows.csv", (), 2)


def test_instances_of_a_list_read_all_inputs() -> None:
    (found,) = readings(plan({"id": "S1", "for_each": {"items": ["p", "q"]}, "prompt": "{item}"}))
    assert (found.shared, found.count) == (("a.md", "b.md", "rows.csv"), 2)


def test_a_step_inside_another_one_is_counted_for_each_of_its_items() -> None:
    inner = {"agent": "Reader", "prompt": "x", "id": "S1", "inputs": ["a.md"]}
    outer = {
        "id": "S1",
        "agent": "",
        "prompt": "",
        "for_each": {"items": ["p", "q"]},
        "plan": {"steps": [inner]},
        "inputs": None,
    }
    found = {each.step: each for each in readings(plan(outer))}
    assert (found["S1.S1"].shared, found["S1.S1"].count) == (("a.md",), 2)


def test_lines_say_what_is_read_and_what_is_not() -> None:
    made = plan({"id": "S1", "inputs": ["a.md"]}, {"id": "S2", "inputs": ["a.md", "b.md"]})
    assert input_lines(made) == [
        "3 inputs of about 30 tokens.",
        "S1 reads a.md of about 14 tokens.",
        "S2 reads a.md, b.md of about 28 tokens.",
        "No step reads rows.csv.",
    ]
    assert input_lines(plan({"id": "S1"}, inputs={})) == []


def test_lines_are_bounded() -> None:
    texts = {f"{n}.md": "x" for n in range(500)}
    made = plan(*({"id": f"S{n}", "prompt": f"do {n}"} for n in range(1, 40)), inputs=texts)
    lines = input_lines(made)
    assert lines[1] == "S1 reads all 500 inputs of about 500 tokens."
    assert (len(lines), lines[-1]) == (10, "31 more steps read inputs.")


def test_what_is_repeated_little_or_once_is_not_said() -> None:
    long = {"a.md": "x" * 30_000}
    once = plan({"id": "S1"}, inputs=long)
    few = plan({"id": "S1", "for_each": {"items": ["p", "q"]}, "prompt": "{item}"})
    assert repeated_lines(once, MODELS, {}) == repeated_lines(few, MODELS, {}) == []


def test_what_is_repeated_is_said_with_tokens_and_cost() -> None:
    long = {"a.md": "x" * 30_000}
    made = plan({"id": "S1", "for_each": {"items": ["p", "q"]}, "prompt": "{item}"}, inputs=long)
    (line,) = repeated_lines(made, MODELS, {"m": Price(1e-6, 2e-6)})
    assert line == (
        "Each of the 2 instances of S1 reads a.md: 2 times 10,000 tokens, 20,000 in all, $0.0200."
    )
    (line,) = repeated_lines(made, MODELS, {"m": FREE})
    assert line.endswith("20,000 in all.")
    (line,) = repeated_lines(made, MODELS, {})
    assert line.endswith("in all, price not known.")


def test_a_picture_counts_as_what_a_model_takes_for_it_and_not_as_its_text() -> None:
    data = picture_bytes()
    shown = made_picture(data)
    assert shown is not None
    # What follows the pixels makes the file, and so its text, larger; no model reads that.
    large = replace(shown, data=data + bytes(60_000))
    inputs = {"sign.png": picture_text(large)}
    assert input_tokens(inputs) == shown.tokens
    assert input_words(inputs) == f"1 input of about {shown.tokens:,} tokens"
    made = plan({"id": "S1", "inputs": ["sign.png"]}, inputs=inputs)
    assert input_lines(made)[0] == f"{input_words(inputs)}."
    many = {"id": "S1", "for_each": {"items": ["p", "q"]}, "prompt": "{item}", "inputs": [*inputs]}
    assert repeated_lines(plan(many, inputs=inputs), MODELS, {}) == []
