"""Inputs as planners see them, and names that they may use."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from grammar_reader import GrammarReader
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import NoPlanError
from prefect_swarm.plan.task_ir import PlanRules
from prefect_swarm.tasks.planner.conversation import PlanContext, PlanDraft, instructions
from prefect_swarm.tasks.planner.facts import listing, notes_of
from prefect_swarm.tasks.planner.grammar import plan_grammar, plan_shape
from prefect_swarm.tasks.planner.planned import WrittenPlan, plan_schema
from prefect_swarm.tasks.planner.planners import StructuredPlanner
from prefect_swarm.tasks.planner.task import PlanRequest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

TEXTS = {"sales.csv": "region,sum\nnorth,3", "paper.pdf": "[page 1]\nOn rain\nIt rained."}
GIVEN = PlanRules(inputs=frozenset(TEXTS))
NOTHING = PlanRules(inputs=frozenset())


def written(*inputs: list[str] | None) -> dict[str, Any]:
    return {
        "create_subagent": [{"name": "Ann", "system_prompt": "You read."}],
        "assign_task": [
            {"agent": "Ann", "prompt": f"Read {n}", "depends_on": []}
            | ({} if names is None else {"inputs": names})
            for n, names in enumerate(inputs)
        ],
    }


def draft_of(*plans: dict[str, Any], seen: list[str] | None = None) -> PlanDraft:
    answers = iter(plans)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if seen is not None:
            seen.append(str(messages))
        return ModelResponse([ToolCallPart(info.output_tools[0].name, next(answers))])

    context = PlanContext(GIVEN, inputs=notes_of(TEXTS))
    return asyncio.run(StructuredPlanner(FunctionModel(answer)).plan("Sum up", context))


def test_an_input_is_a_line_with_kind_size_and_beginning() -> None:
    assert listing(notes_of(TEXTS)).splitlines() == [
        "Inputs that are given with it:",
        "- sales.csv (CSV, 1 row, 18 characters, about 6 tokens), begins: region,sum",
        "- paper.pdf (PDF, 27 characters, about 9 tokens), begins: On rain",
    ]
    assert listing(()) == ""


@given(st.dictionaries(st.text(max_size=80), st.text(max_size=2000), max_size=60))
def test_what_a_planner_sees_is_bounded(texts: dict[str, str]) -> None:
    lines = listing(notes_of(texts)).split("\n- ")
    assert len(lines) <= 21
    assert len(lines[0]) < 2000
    assert all(len(line) < 300 for line in lines[1:])


def test_of_many_inputs_the_planner_sees_how_many_there_are_and_some_of_each_sort() -> None:
    texts = {f"invoices/{n:03}.pdf": f"[page 1]\nInvoice {n}" for n in range(200)}
    texts |= {"notes.md": "# Rules", "rates/2024.csv": "day,rate\n1,2\n2,3"}
    shown = listing(notes_of(texts))
    head, patterns, of, *lines = shown.splitlines()
    assert head == (
        "Inputs that are given with it: 202, of about 1,399 tokens; half of them have 7 or more, "
        "the largest has 7 (invoices/010.pdf)."
    )
    assert patterns == (
        "Patterns over their names: * fits 202, *.pdf fits 200, *.md fits 1, *.csv fits 1, "
        "invoices/* fits 200, rates/* fits 1"
    )
    assert (of, len(lines)) == ("20 of them:", 20)
    assert lines[0].startswith("- invoices/000.pdf (PDF")
    assert lines[-2:] == [
        "- notes.md (Markdown, 7 characters, about 3 tokens), begins: # Rules",
        "- rates/2024.csv (CSV, 2 rows, 16 characters, about 6 tokens), begins: day,rate",
    ]


def test_a_plan_for_each_of_many_inputs_needs_no_count() -> None:
    rules = PlanRules(inputs=frozenset(f"{n}.pdf" for n in range(200)))
    each = {
        "agent": "Ann",
        "prompt": "Read {item}",
        "depends_on": [],
        "for_each": {"items": "*.pdf"},
    }

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        plan = {**written(), "assign_task": [each]}
        return ModelResponse([ToolCallPart(info.output_tools[0].name, plan)])

    context = PlanContext(rules, inputs=notes_of(dict.fromkeys(rules.inputs or (), "x")))
    draft = asyncio.run(StructuredPlanner(FunctionModel(answer)).plan("Sum up each", context))
    (step,) = draft.plan.steps
    assert step.for_each is not None
    assert (step.for_each.items, step.for_each.max_items) == ("*.pdf", 1000)


def test_the_planner_is_told_only_where_there_are_inputs() -> None:
    assert instructions(GIVEN).startswith(instructions(NOTHING))
    assert "inputs: the names" in instructions(GIVEN)
    assert instructions(NOTHING) == instructions(PlanRules())
    for inputs in (True, False):
        assert ("inputs" in json.dumps(plan_schema(inputs=inputs))) is inputs
    assert ('"inputs"' in plan_shape(GIVEN), '"inputs"' in plan_shape(NOTHING)) == (True, False)


def test_a_plan_names_what_its_steps_read() -> None:
    seen: list[str] = []
    draft = draft_of(written(["sales.csv"], None), seen=seen)
    assert [step.inputs for step in draft.plan.steps] == [("sales.csv",), None]
    assert draft.plan.objective == "Sum up"
    assert "north,3" not in seen[0]


def test_an_input_that_is_not_given_is_reported_and_corrected_once() -> None:
    seen: list[str] = []
    draft = draft_of(written(["sale.csv"]), written(["sales.csv"]), seen=seen)
    assert "step S1 reads an unknown input 'sale.csv'" in seen[1]
    assert draft.usage.requests == 2
    with pytest.raises(NoPlanError):
        draft_of(written(["x"]), written(["x"]))


@pytest.mark.parametrize(
    ("rules", "inputs", "admitted"),
    [
        (GIVEN, ["sales.csv", "paper.pdf"], True),
        (GIVEN, [], True),
        (GIVEN, None, True),
        (GIVEN, ["other.csv"], False),
        (NOTHING, ["sales.csv"], False),
        (PlanRules(inputs=frozenset({"Zürich.csv"})), ["Zürich.csv"], True),
    ],
)
def test_the_grammar_admits_given_inputs_alone(
    rules: PlanRules, inputs: list[str] | None, admitted: bool
) -> None:
    text = json.dumps(written(inputs), ensure_ascii=False)
    assert GrammarReader().accepts(plan_grammar(rules._replace(max_steps=3)), text) is admitted


def test_a_request_without_inputs_has_the_key_that_it_had() -> None:
    from prefect_swarm.tasks.planner import task

    request = PlanRequest(run="r", objective="Sum up", model="m", max_steps=3)
    key: Any = task._key
    bare = {"request": request.model_dump(mode="json", exclude={"inputs", "facts"})}
    assert key(None, bare) == key(None, {"request": request.model_dump(mode="json")})
    noted = request.model_copy(update={"inputs": notes_of(TEXTS)})
    assert key(None, bare) != key(None, {"request": noted.model_dump(mode="json")})


PDFS = frozenset({"a.pdf", "b.pdf", "rates.md"})


@pytest.mark.parametrize(
    ("items", "inputs", "pattern", "read"),
    [
        (["a.pdf", "b.pdf"], None, "*.pdf", None),
        ("*.pdf", ["a.pdf", "b.pdf"], "*.pdf", None),
        ("*.pdf", ["a.pdf", "b.pdf", "rates.md"], "*.pdf", ("rates.md",)),
        (["a.pdf", "b.pdf"], ["rates.md", "a.pdf", "b.pdf"], "*.pdf", ("rates.md",)),
        ("*.pdf", ["a.pdf"], "*.pdf", ("a.pdf",)),
        (["a.pdf", "c.pdf"], None, ("a.pdf", "c.pdf"), None),
        (["a.pdf", {"x": 1}], None, ("a.pdf", {"x": 1}), None),
        (["a.pdf", "rates.md"], None, ("a.pdf", "rates.md"), None),
    ],
)
def test_what_is_done_for_each_input_reads_its_own_alone(
    items: Any, inputs: list[str] | None, pattern: Any, read: tuple[str, ...] | None
) -> None:
    task = {"agent": "Ann", "prompt": "Read {item}", "for_each": {"items": items}}
    written_plan = WrittenPlan.model_validate(
        {**written(), "assign_task": [{**task, "inputs": inputs}]}
    )
    (step,) = written_plan.plan("Sum up", PlanRules(inputs=PDFS)).steps
    assert step.for_each is not None
    assert (step.for_each.items, step.inputs) == (pattern, read)
