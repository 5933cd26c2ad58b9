"""The plan language: what validates is a DAG, and what does not is a typed, readable error."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.bounds import Range, extents, total
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.expand import instances_of
from prefect_swarm.plan.items import item_of
from prefect_swarm.plan.output import Output
from prefect_swarm.plan.program import ForEach
from prefect_swarm.plan.task_ir import (
    MAX_ITEMS,
    MAX_STEPS,
    Agent,
    PlanRules,
    Step,
    StoredPlan,
    TaskIR,
    load_plan,
    parse_plan,
)
from pydantic import TypeAdapter, ValidationError
from raw_plans import plan, problem, step

SCHEMA_FILE = Path(__file__).parents[1] / "docs" / "reference" / "task_ir.schema.json"
REGENERATE = (
    """python -c 'import json; from prefect_swarm.plan.task_ir import TaskIR; """
    """print(json.dumps(TaskIR.model_json_schema(), indent=2))' """
    """> docs/reference/task_ir.schema.json"""
)


def test_what_is_left_out_has_a_default() -> None:
    ir = parse_plan(plan())
    assert (ir.task_type, ir.agents[0].tier) == ("chat", "worker")
    assert ir.steps[0] == Step(id="S1", agent="Ann", prompt="Do part 1")
    assert ir.steps[0].gates is None
    assert ir.escalation.max_tier == "architect"


def test_a_step_may_depend_on_any_steps_before_it() -> None:
    ir = parse_plan(plan(step(1), step(2), step(3, 2, 1)))
    assert ir.steps[2].depends_on == ("S2", "S1")


def test_texts_lose_the_space_around_them() -> None:
    assert parse_plan(plan(step(1, prompt="  Go\n"))).steps[0].prompt == "Go"


def test_the_same_prompt_for_two_agents_is_allowed() -> None:
    agents = [{"name": name, "system_prompt": "You judge."} for name in ("Ann", "Bob")]
    steps = [step(1, prompt="Judge it"), step(2, prompt="Judge it", agent="Bob")]
    assert len(parse_plan(plan(*steps, agents=agents)).steps) == 2


def test_gate_names_are_not_checked_where_no_gates_are_known() -> None:
    assert parse_plan(plan(step(1, gates=["anything"]))).steps[0].gates == ("anything",)


def test_a_whole_number_of_seconds_is_a_timeout() -> None:
    assert parse_plan(plan(step(1, timeout_s=60))).steps[0].timeout_s == 60.0


GIVEN = PlanRules(inputs=frozenset({"notes.md"}))


def test_a_step_may_read_what_the_plan_has_and_what_the_run_is_given() -> None:
    ir = parse_plan(plan(step(1, inputs=["own", "notes.md"]), inputs={"own": "x"}), GIVEN)
    assert ir.steps[0].inputs == ("own", "notes.md")


def test_an_input_that_is_not_known_is_refused_with_those_that_are() -> None:
    assert "step S1 reads an unknown input 'note.md'; there are notes.md" in problem(
        plan(step(1, inputs=["note.md"])), GIVEN
    )
    nothing = PlanRules(inputs=frozenset())
    assert "no inputs are given" in problem(plan(step(1, inputs=["a"])), nothing)


def test_an_input_that_is_named_twice_is_refused() -> None:
    wrong = plan(step(1, inputs=["notes.md", "notes.md"]))
    assert "step S1 names its input 'notes.md' twice" in problem(wrong, GIVEN)


def test_inputs_are_not_checked_before_all_are_known() -> None:
    assert parse_plan(plan(step(1, inputs=["later"]))).steps[0].inputs == ("later",)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown agent": (
        plan(step(1, agent="Eve")),
        "step S1 is assigned to an unknown agent 'Eve'",
    ),
    "a dependency that is not a step": (
        plan(step(1), step(2, 9)),
        "step S2 depends on S9, which is not a step of the plan",
    ),
    "a dependency on a later step": (
        plan(step(1, 2), step(2)),
        "step S1 depends on S2, which comes later",
    ),
    "a dependency on itself": (plan(step(1, 1)), "step S1 depends on itself"),
    "a doubled dependency": (
        plan(step(1), step(2, 1, 1)),
        "step S2 names its dependency S1 twice",
    ),
    "a doubled id": (plan(step(1), step(1, prompt="Else")), "step S1 is there twice"),
    "a doubled prompt": (
        plan(step(1, prompt="Go"), step(2, prompt=" Go ")),
        "step S2 gives 'Ann' the same prompt as S1",
    ),
    "a doubled agent": (
        plan(agents=[{"name": "Ann", "system_prompt": "You."}] * 2),
        "agents: agent 'Ann' is created twice",
    ),
    "an unknown final step": (
        plan(final_step="S2"),
        "final_step S2 is not a step of the plan",
    ),
    "a schema on a kind that is not json": (
        plan(step(1, output={"kind": "text", "schema": {}})),
        "step S1.output: a schema is for output kind json, not text",
    ),
    "a bad JSON Schema": (
        plan(step(1, output={"kind": "json", "schema": {"properties": {"a": {"type": "nope"}}}})),
        "step S1.output: the output's JSON Schema is wrong at properties/a/type: 'nope'",
    ),
    "a blank prompt": (plan(step(1, prompt=" ")), "step S1: it has no prompt"),
    "a malformed id": (plan(step(1) | {"id": "S01"}), "step number 1.id: String should match"),
    "an unknown field": (plan(step(1, colour="red")), "step S1.colour: Extra inputs"),
    "a field of the past": (plan(priority="batch"), "priority: Extra inputs"),
    "an unknown tier": (
        plan(agents=[{"name": "Ann", "system_prompt": "You.", "tier": "boss"}]),
        "agents.0.tier: Input should be 'worker', 'coder' or 'architect' (got 'boss')",
    ),
    "an empty plan": (plan() | {"steps": []}, "steps: Tuple should have at least 1 item"),
    "a plan without agents": (plan(agents=[]), "step S1 is assigned to an unknown agent 'Ann'"),
    "a timeout of nothing": (plan(step(1, timeout_s=0)), "step S1.timeout_s: Input should be gr"),
    "an endless timeout": (
        plan(step(1, timeout_s=float("inf"))),
        "step S1.timeout_s: Input should be a finite number",
    ),
    "no attempt at all": (
        plan(escalation={"max_attempts": 0}),
        "escalation.max_attempts: Input should be greater than or equal to 1",
    ),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_the_place_and_the_reason(data: dict[str, Any], words: str) -> None:
    assert f"breaks a rule: {words}" in problem(data)


def test_an_unknown_gate_is_refused_where_the_gates_are_known() -> None:
    rules = PlanRules(gates=frozenset({"schema", "lint"}))
    message = problem(plan(step(1, gates=["schema", "vibes"])), rules)
    assert "step S1 names an unknown gate 'vibes'; there are lint, schema" in message


def test_more_steps_than_the_limit_are_refused() -> None:
    three = plan(step(1), step(2), step(3))
    assert "3 steps are more than the limit of 2" in problem(three, PlanRules(max_steps=2))
    assert len(parse_plan(three, PlanRules(max_steps=3)).steps) == 3


def test_the_limit_holds_where_no_rules_are_given() -> None:
    steps = tuple(Step(id=f"S{n}", agent="Ann", prompt=str(n)) for n in range(1, MAX_STEPS + 2))
    agents = (Agent(name="Ann", system_prompt="You."),)
    with pytest.raises(ValidationError, match="302 steps are more than the limit of 301"):
        TaskIR(objective="Too much", agents=agents, steps=steps)


@pytest.mark.parametrize(
    "strange",
    [{"objective": 7}, {"inputs": {"n": 7}}, {"constraints": "short"}, {"escalation": "none"}],
    ids=str,
)
def test_values_of_another_type_are_not_converted(strange: dict[str, Any]) -> None:
    assert next(iter(strange)) in problem(plan(**strange))


@pytest.mark.parametrize("strange", [{"timeout_s": "60"}, {"timeout_s": True}, {"optional": 1}])
def test_a_steps_values_are_not_converted_either(strange: dict[str, Any]) -> None:
    assert f"step S1.{next(iter(strange))}: Input should be" in problem(plan(step(1, **strange)))


def test_every_problem_of_a_plan_is_named_at_once() -> None:
    message = problem(plan(step(1, prompt=""), step(2, optional="no")))
    assert "step S1: it has no prompt" in message
    assert "step S2.optional" in message


def test_a_bad_entry_is_not_reported_as_a_missing_one_too() -> None:
    assert "at least 1 item" not in problem(plan(step(1, prompt="")))


def test_what_is_not_json_is_refused_with_line_and_column() -> None:
    text = '{"objective": "Do it",\n "agents" []}'
    with pytest.raises(PlanError, match=r"not JSON: .* at line 2, column 11") as caught:
        parse_plan(text)
    assert caught.value.text == text


@pytest.mark.parametrize("looping", ["[" * 20_000, "7" * 20_000], ids=["brackets", "digits"])
def test_a_model_that_loops_gives_a_plan_error(looping: str) -> None:
    assert "is not JSON" in problem(looping)


@pytest.mark.parametrize("other", ["null", "[]", "3", '"plan"'])
def test_json_that_is_no_object_is_refused(other: str) -> None:
    assert "breaks a rule" in problem(other)


def test_a_plan_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan()), encoding="utf-8")
    assert load_plan(path) == parse_plan(plan())


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"\xff\xfe", "read as UTF-8"), (b"{", "not JSON"), (b"{}", "a rule")],
)
def test_a_plan_file_that_cannot_be_used_is_named(
    content: bytes | None, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PlanError, match=reason) as caught:
        load_plan(path)
    assert str(path) in caught.value.problem


def test_a_plan_is_frozen() -> None:
    ir = parse_plan(plan())
    with pytest.raises(ValidationError, match="frozen"):
        ir.objective = "Another"
    with pytest.raises(ValidationError, match="frozen"):
        ir.steps[0].prompt = "Another"


def test_the_schema_in_the_docs_is_the_languages() -> None:
    written = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    assert written == TaskIR.model_json_schema(), f"run: {REGENERATE}"


def test_a_template_gives_one_step_that_is_done_for_each_item() -> None:
    ir = TaskIR.from_items("Translate {item}; {item} again", ["sea", "sky"])
    (only,) = ir.steps
    assert only.for_each == ForEach(items=("sea", "sky"), max_items=2)
    (compiled,) = compile_plan(ir).steps
    items = [item_of(value, trusted=True) for value in ("sea", "sky")]
    assert [(each.id, each.prompt) for each in instances_of(compiled, items)] == [
        ("S1[1]", "Translate sea; sea again"),
        ("S1[2]", "Translate sky; sky again"),
    ]
    assert only.depends_on == ()
    assert ir.final_step is None


def test_a_join_reads_every_item_and_is_the_answer() -> None:
    ir = TaskIR.from_items("Sum {item}", ["a", "b", "c"], join="Add them up", objective="A sum")
    assert [planned.id for planned in ir.steps] == ["S1", "S2"]
    assert ir.steps[-1].depends_on == ("S1",)
    assert (ir.final_step, ir.objective) == ("S2", "A sum")
    assert ir.steps[-1].agent != ir.steps[0].agent


def test_the_items_go_to_the_agent_that_is_named() -> None:
    agent = Agent(name="P" * 80, system_prompt="You prove.", tier="coder")
    ir = TaskIR.from_items("Prove {item}", ["a", "b"], agent=agent, join="Compare")
    assert ir.agents[0] == agent
    assert ir.steps[0].agent == agent.name


def test_as_many_items_as_allowed_are_a_plan() -> None:
    ir = TaskIR.from_items("{item}", [str(n) for n in range(MAX_ITEMS)])
    assert total(extents(ir, 1)).instances == Range(MAX_ITEMS, MAX_ITEMS)


@pytest.mark.parametrize("count", [0, 1, MAX_ITEMS + 1])
def test_too_few_or_too_many_items_are_refused(count: int) -> None:
    with pytest.raises(PlanError, match=f"{count} items were given. Give 2 to 10,000"):
        TaskIR.from_items("Do {item}", [str(n) for n in range(count)])


def test_a_template_without_a_place_for_the_item_is_refused() -> None:
    with pytest.raises(PlanError, match=r"has no \{item\}"):
        TaskIR.from_items("Do item", ["a", "b"])


@pytest.mark.parametrize("items", [["a", "a"], ["a", "a "]], ids=["same", "but for a space"])
def test_a_repeated_item_is_refused(items: list[str]) -> None:
    with pytest.raises(PlanError, match="Two items give the same prompt 'Do a'"):
        TaskIR.from_items("Do {item}", items)


def test_a_part_that_no_item_has_is_refused() -> None:
    with pytest.raises(PlanError, match=r"names \{item.name\}, and in an item there is no /name"):
        TaskIR.from_items("{item} by {item.name}", ["a", "b"])


def test_a_blank_prompt_is_refused() -> None:
    with pytest.raises(PlanError, match=r"Item 2 gives a blank prompt"):
        TaskIR.from_items("{item}", ["a", " "])
    with pytest.raises(PlanError, match=r"step S2: it has no prompt"):
        TaskIR.from_items("{item}", ["a", "b"], join=" ")


_TEXT = st.text(min_size=1, max_size=20).filter(lambda text: text.strip())
_NONE = st.just(list[int]())
_OUTPUTS = st.one_of(
    st.fixed_dictionaries({"kind": st.sampled_from(["text", "python", "shell", "files"])}),
    st.fixed_dictionaries(
        {
            "kind": st.just("json"),
            "schema": st.sampled_from([None, {}, {"type": "array", "items": {"type": "string"}}]),
        }
    ),
)


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(_TEXT, min_size=1, max_size=4, unique_by=str.strip))
    tiers = st.sampled_from(["worker", "coder", "architect"])
    agents = [{"name": name, "system_prompt": draw(_TEXT), "tier": draw(tiers)} for name in names]
    prompts = draw(st.lists(_TEXT, min_size=1, max_size=8, unique_by=str.strip))
    steps = [
        step(
            number,
            *draw(
                st.lists(st.sampled_from(range(1, number)), unique=True) if number > 1 else _NONE
            ),
            prompt=prompt,
            agent=draw(st.sampled_from(names)),
            output=draw(_OUTPUTS),
            gates=draw(st.none() | st.lists(_TEXT, max_size=2)),
            timeout_s=draw(st.none() | st.floats(0, exclude_min=True, allow_infinity=False)),
            optional=draw(st.booleans()),
        )
        for number, prompt in enumerate(prompts, 1)
    ]
    return plan(
        *steps,
        agents=agents,
        inputs=draw(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)),
        final_step=draw(st.none() | st.sampled_from([planned["id"] for planned in steps])),
    )


@given(plans())
def test_a_valid_plan_survives_being_written_and_read(data: dict[str, Any]) -> None:
    ir = parse_plan(data)
    assert parse_plan(ir.model_dump_json()) == ir
    assert TaskIR.model_validate_json(ir.model_dump_json()) == ir
    assert parse_plan(ir.model_dump()) == ir


@given(plans(), st.data())
def test_a_dependency_on_a_step_that_does_not_come_before_is_refused(
    data: dict[str, Any], draw: st.DataObject
) -> None:
    ids = [planned["id"] for planned in data["steps"]]
    at = draw.draw(st.integers(0, len(ids) - 1))
    data["steps"][at]["depends_on"] = [draw.draw(st.sampled_from(ids[at:]))]
    assert f"step {ids[at]} depends on" in problem(data)


def test_a_stored_plan_may_have_the_field_of_the_past() -> None:
    kept = TypeAdapter(StoredPlan).validate_json(json.dumps(plan(priority="batch")))
    assert kept == parse_plan(plan())


ANY_STEP = {"id": "S1", "agent": "any", "prompt": "Read it"}


def test_the_agent_any_needs_no_creating() -> None:
    read = parse_plan({"objective": "x", "steps": [ANY_STEP]})
    assert [agent.name for agent in read.agents] == ["any"]
    assert parse_plan(read.model_dump_json()) == read


def test_an_agent_any_that_a_plan_creates_is_its_own() -> None:
    own = {"name": "any", "system_prompt": "Mine."}
    read = parse_plan({"objective": "x", "agents": [own], "steps": [ANY_STEP]})
    assert [agent.system_prompt for agent in read.agents] == ["Mine."]


def test_every_other_agent_needs_creating() -> None:
    created = {"name": "A", "system_prompt": "B"}
    with pytest.raises(PlanError, match="unknown agent 'anybody'"):
        parse_plan(
            {"objective": "x", "agents": [created], "steps": [{**ANY_STEP, "agent": "anybody"}]}
        )


def test_a_pattern_is_mapped_over_the_inputs_that_it_fits() -> None:
    ir = TaskIR.from_items(
        "Extract the total",
        "*.pdf",
        output=Output(kind="json"),
        gates=["+json"],
        inputs=["rates.md"],
        optional=True,
        tools=["python"],
        collect="table",
    )
    first, second = ir.steps
    assert first.for_each is not None
    assert (first.for_each.items, first.for_each.max_items) == ("*.pdf", 1000)
    assert (first.for_each.at_least, first.inputs, first.gates) == (1, ("rates.md",), ("+json",))
    assert (first.output.kind, ir.agents[0].tools) == ("json", ("python",))
    assert (second.collect, second.depends_on, ir.final_step) == ("table", ("S1",), "S2")
    assert ir.objective == "Extract the total (each of *.pdf)"


def test_the_name_of_an_input_is_mapped_over_its_rows() -> None:
    (step,) = TaskIR.from_items("Write to {item.name}", "people.csv").steps
    assert step.for_each is not None
    assert (step.for_each.items, step.for_each.max_items) == ("people.csv", MAX_ITEMS)


def test_items_are_joined_in_one_way() -> None:
    with pytest.raises(PlanError, match="Both join and collect"):
        TaskIR.from_items("Sum up", "*", join="Compare", collect="list")
