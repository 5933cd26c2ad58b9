"""What took time or requests for nothing is named; what may have had its use is not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.metrics.parl import OrchestratorTurn
from prefect_swarm.parl.collapse import MOST_FINDINGS, PlanRun, acted_steps, find_collapse
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.attempt import Attempt, ToolCall
from prefect_swarm.store.step import StepState

OBJECTIVE = "Compare trains and buses between Porto and Lisbon"
TRAINS = (
    "Alfa Pendular trains leave Campanhã station 11 times daily, cross the Douro, and reach "
    "Oriente within 2:58 hours. Second class tickets cost 34.20 euros, first class 47.10, with "
    "sockets, quiet carriages and a dining car."
)
BUSES = (
    "Rede Expressos coaches depart hourly from a terminal beside the university hospital. "
    "Passengers pay 19.90, luggage travels free, and the motorway journey lasts three and a half "
    "hours with a single stop at Leiria for coffee."
)
VERDICT = (
    "The Alfa Pendular is faster by half an hour at 34.20 euros, whereas Rede Expressos charges "
    "19.90 and stops at Leiria; travellers with little money should board the coach."
)


def step(name: str, prompt: str, *needs: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "agent": "Clerk", "prompt": prompt, "depends_on": list(needs), **fields}


def plan_of(*steps: dict[str, Any], objective: str = OBJECTIVE, **fields: Any) -> TaskIR:
    agents = [
        {"name": "Clerk", "system_prompt": "You look things up."},
        {"name": "Pilot", "system_prompt": "You fly."},
    ]
    data = {"objective": objective, "agents": agents, "steps": list(steps), **fields}
    return TaskIR.model_validate_json(json.dumps(data))


def state(name: str, status: str = "succeeded", **fields: Any) -> StepState:
    attempt = Attempt(number=1, tier="worker", model="m", started_at=0, ended_at=1)
    data = {"id": name, "agent": "Clerk", "status": status, "attempts": (attempt,), **fields}
    return StepState.model_validate(data)


def found(
    plan: TaskIR,
    outputs: Mapping[str, str],
    states: Mapping[str, StepState] | None = None,
    **fields: Any,
) -> list[tuple[str, str, str]]:
    run = PlanRun(
        plan=plan,
        states={each.id: state(each.id) for each in plan.steps} | dict(states or {}),
        outputs=outputs,
        **fields,
    )
    return [(each.kind, each.step, each.other) for each in find_collapse(run)]


CHAIN = plan_of(
    step("S1", "Describe trains from Porto to Lisbon"),
    step("S2", "Describe buses from Porto to Lisbon", "S1"),
)
BOTH = {"S1": TRAINS, "S2": BUSES}


def test_a_step_that_uses_nothing_of_what_it_waited_for_is_named() -> None:
    assert found(CHAIN, BOTH) == [("waited", "S2", "S1")]


def test_a_step_about_something_else_altogether_is_named() -> None:
    plan = plan_of(
        step("S1", "Describe trains from Porto to Lisbon"),
        step("S2", "Explain photosynthesis to children", "S1"),
    )
    green = (
        "Leaves catch sunlight with chlorophyll, drink water through roots, breathe carbon dioxide "
        "and bake sugar for the growing plant, while oxygen escapes."
    )
    assert found(plan, {"S1": TRAINS, "S2": green}) == [("waited", "S2", "S1")]


@pytest.mark.parametrize(
    "prompt",
    [
        "Describe buses from Porto to Lisbon, with the same headings",
        "Describe buses and say how S1 differs",
        "Describe buses in the form that the Clerk uses",
        "Translate into Portuguese",
        "Compare with buses",
        "Describe buses. Leave out what is described above",
        "Write a poem about trains",
        "Continue the story",
        "Shorten it",
    ],
)
def test_a_prompt_that_speaks_of_what_it_reads_has_its_use_of_it(prompt: str) -> None:
    plan = plan_of(CHAIN.steps[0].model_dump(mode="json"), step("S2", prompt, "S1"))
    assert found(plan, BOTH) == []


@pytest.mark.parametrize(
    "output",
    [
        f"{BUSES} A train ticket costs 34.20.",
        f"{BUSES} The line to Campanhã is older.",
        "Sockets and quiet carriages are what buses don't have, nor dining, whatever class.",
        "Yes.",
        "",
    ],
    ids=["number", "name", "words", "short", "nothing"],
)
def test_an_output_that_has_something_of_what_it_reads_or_is_too_short_to_say(output: str) -> None:
    assert found(CHAIN, {"S1": TRAINS, "S2": output}) == []


GEARS = (
    "Opening: why bees matter. Middle: foraging, dances, pollen baskets, winter clusters. Close: "
    "what listeners can plant on balconies."
)
HIVES = (
    "Good evening. Last July my grandmother's garden fell silent, and only then did anyone ask who "
    "had been humming there every summer since her childhood."
)


@pytest.mark.parametrize(
    ("first", "second", "made", "built"),
    [
        ("Write an outline of a talk on bees", "Write the opening of the talk", GEARS, HIVES),
        ("Find selling points of a lamp", "Write a slogan for a lamp", GEARS, HIVES),
        ("Collect arguments", "Write an essay from the arguments found", GEARS, HIVES),
        ("Choose a city", "Plan a day in Porto", f"{GEARS} Porto it is.", HIVES),
        ("Name a hero", "Tell how Maya learned to fly", "Maya, a bee that lives in a hive", HIVES),
        ("Outline", "Write chapter one. Step S1 has the outline", GEARS, HIVES),
    ],
)
def test_a_step_that_works_on_the_same_subject_is_not_named(
    first: str, second: str, made: str, built: str
) -> None:
    plan = plan_of(step("S1", first), step("S2", second, "S1"), objective="Help me with my bees")
    assert found(plan, {"S1": made, "S2": built}) == []


@pytest.mark.parametrize("which", ["S1", "S2"])
def test_what_is_too_long_to_be_read_is_not_judged(which: str) -> None:
    long = BOTH | {which: BOTH[which] + " so" * 10_000}
    assert found(CHAIN, long) == []
    late = plan_of(*FIRST, step("S2", "Describe buses from Porto to Lisbon"))
    named = found(late, long, turns=turns(("S2",)))
    assert named == ([("late", "S2", "")] if which == "S2" else [])


def test_another_language_is_not_judged() -> None:
    portuguese = (
        "Autocarros partem cada hora, junto ao hospital universitário; passageiros pagam pouco, "
        "malas viajam sem custo, motoristas param uma vez para café e descanso breve."
    )
    chinese = (
        "列车每天十一班，二等座三十四欧元。车上有插座，安静车厢，餐车。全程不到三小时，沿河而行。"
    )
    assert found(CHAIN, {"S1": TRAINS, "S2": portuguese}) == []
    assert found(CHAIN, {"S1": chinese, "S2": BUSES}) == []
    late = plan_of(*FIRST, step("S2", "Describe buses from Porto to Lisbon"))
    assert found(late, {"S1": chinese, "S2": BUSES}, turns=turns(("S2",))) == []


@pytest.mark.parametrize("which", ["S1", "S2"])
def test_a_step_that_was_replaced_is_not_judged_by_the_plans_prompt(which: str) -> None:
    assert found(CHAIN, BOTH, {which: state(which, change="replaced")}) == []


def test_a_short_output_says_nothing_of_who_reads_it() -> None:
    assert found(CHAIN, {"S1": "The coach.", "S2": BUSES}) == []


@pytest.mark.parametrize(
    ("which", "status"),
    [("S1", "failed"), ("S1", "skipped"), ("S2", "failed"), ("S2", "cancelled"), ("S2", "skipped")],
)
def test_a_step_that_did_not_succeed_is_not_judged(which: str, status: str) -> None:
    assert found(CHAIN, BOTH, {which: state(which, status)}) == []


def test_an_optional_step_is_judged_as_any_other_once_it_succeeded() -> None:
    first, second = (each.model_dump(mode="json") for each in CHAIN.steps)
    plan = plan_of(first | {"optional": True}, second)
    assert found(plan, BOTH) == [("waited", "S2", "S1")]
    assert found(plan, {"S2": BUSES}, {"S1": state("S1", "failed")}) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"when": {"step": "S1", "matches": "train"}},
        {"for_each": {"items": ["a", "b"]}, "prompt": "Describe buses of {item}"},
        {"repeat": {"until": {"matches": "x"}, "max_rounds": 2}},
        {"collect": "list", "agent": "", "prompt": ""},
        {"approval": True},
        {"output": {"kind": "python"}},
    ],
    ids=["condition", "for each", "rounds", "join", "a person", "code"],
)
def test_a_step_that_may_wait_for_other_reasons_is_not_named(fields: dict[str, Any]) -> None:
    first, second = (each.model_dump(mode="json", by_alias=True) for each in CHAIN.steps)
    assert found(plan_of(first, second | fields), BOTH) == []


def test_a_condition_alone_is_no_need_that_is_read() -> None:
    plan = plan_of(
        step("S1", "Describe trains from Porto to Lisbon"),
        step("S2", "Describe buses from Porto to Lisbon", when={"step": "S1", "matches": "train"}),
    )
    assert found(plan, BOTH) == []


def test_a_step_whose_tools_act_may_have_done_what_the_next_one_waits_for() -> None:
    assert found(CHAIN, BOTH, acted={"S1"}) == []


def test_tools_that_come_along_act_on_nothing_and_others_may() -> None:
    def called(name: str, toolset: str) -> StepState:
        made = state(name)
        calls = (ToolCall(ordinal=1, tool="t", toolset=toolset),)
        return made.model_copy(
            update={"attempts": (made.attempts[0].model_copy(update={"calls": calls}),)}
        )

    states = [called("S1", "web"), called("S2", "ledger"), state("S3")]
    assert acted_steps(states) == {"S2"}


JOIN = (
    step("S1", "Describe trains from Porto to Lisbon"),
    step("S2", "Describe buses from Porto to Lisbon"),
)


def test_a_join_that_takes_one_of_several_outputs_has_read_them_all() -> None:
    plan = plan_of(*JOIN, step("S3", "Write a recommendation for travellers", "S1", "S2"))
    chosen = "Board the Alfa Pendular at Campanhã: quiet carriages, sockets, dining, 2:58 hours."
    assert found(plan, {"S1": TRAINS, "S2": BUSES, "S3": chosen}) == []


def test_instances_are_read_as_one_output() -> None:
    plan = plan_of(
        step("S1", "Describe {item} from Porto to Lisbon", for_each={"items": ["trains", "buses"]}),
        step("S2", "Compare them", "S1"),
    )
    assert found(plan, {"S1": f"{TRAINS}\n\n{BUSES}", "S2": VERDICT}) == []


@pytest.mark.parametrize("answered", [(), ("S1",)])
def test_a_run_of_one_step_has_nothing_to_name(answered: tuple[str, ...]) -> None:
    plan = plan_of(step("S1", "Describe trains"))
    assert found(plan, {"S1": TRAINS}, answered=answered) == []


FIRST = (step("S1", "Describe trains from Porto to Lisbon"),)


def turns(*later: tuple[str, ...], seen: tuple[str, ...] = ()) -> tuple[OrchestratorTurn, ...]:
    first = OrchestratorTurn(1, 1)
    return (
        first,
        *(OrchestratorTurn(n, 1, names, seen) for n, names in enumerate(later, start=2)),
    )


def test_a_later_turns_step_that_uses_nothing_found_before_is_named() -> None:
    plan = plan_of(*FIRST, step("S2", "Describe buses from Porto to Lisbon"))
    assert found(plan, BOTH, turns=turns(("S2",))) == [("late", "S2", "")]


@pytest.mark.parametrize(
    "prompt",
    [
        "Ask when the Alfa Pendular leaves",
        "Find the dining car menu",
        "Check buses again",
        "Describe another way from Porto to Lisbon",
        "Describe the remaining ways",
    ],
)
def test_a_later_turns_step_whose_prompt_goes_by_what_was_found_is_not(prompt: str) -> None:
    plan = plan_of(*FIRST, step("S2", prompt))
    assert found(plan, BOTH, turns=turns(("S2",))) == []


def test_a_later_turns_step_that_needs_an_earlier_one_is_not() -> None:
    plan = plan_of(*FIRST, step("S2", "Name a station", "S1"))
    outputs = {"S1": TRAINS, "S2": "Campanhã is the station that trains leave from, says S1."}
    assert found(plan, outputs, turns=turns(("S2",))) == []


@pytest.mark.parametrize("status", ["failed", "skipped", "cancelled"])
def test_a_turn_after_a_failure_makes_up_for_it(status: str) -> None:
    plan = plan_of(*FIRST, step("S2", "Describe buses from Porto to Lisbon"))
    states = {"S1": state("S1", status)}
    assert found(plan, {"S2": BUSES}, states, turns=turns(("S2",))) == []


def test_what_a_condition_skipped_is_no_failure() -> None:
    plan = plan_of(
        *FIRST,
        step("S2", "Describe ferries", when={"step": "S1", "matches": "ferry"}),
        step("S3", "Describe buses from Porto to Lisbon"),
    )
    states = {"S2": state("S2", "skipped", by_condition=True)}
    outputs = {"S1": TRAINS, "S3": BUSES}
    assert found(plan, outputs, states, turns=turns(("S3",))) == [("late", "S3", "")]


def test_a_turn_names_steps_that_an_edit_has_taken_away_without_harm() -> None:
    assert found(plan_of(*FIRST), {"S1": TRAINS}, turns=turns(("S9",))) == []


def test_an_output_that_nobody_read_is_named() -> None:
    plan = plan_of(*JOIN, step("S3", "Summarise S1", "S1"), final_step="S3")
    outputs = {"S1": TRAINS, "S2": BUSES, "S3": "Trains: Campanhã to Oriente."}
    assert found(plan, outputs, answered={"S3"}) == [("unread", "S2", "")]


def test_what_the_orchestrator_has_seen_was_read() -> None:
    plan = plan_of(*JOIN, step("S3", "Summarise S1", "S1"))
    outputs = {"S1": TRAINS, "S2": BUSES, "S3": "Trains: Campanhã to Oriente."}
    seen = turns(("S3",), seen=("S1", "S2"))
    assert found(plan, outputs, answered={"S3"}, turns=seen) == []


@pytest.mark.parametrize(
    "reader",
    [
        {"when": {"step": "S2", "empty": False}},
        {"for_each": {"items": "S2"}, "prompt": "Describe {item}", "depends_on": []},
        {"depends_on": ["S1", "S2"]},
    ],
    ids=["condition", "items", "need"],
)
@pytest.mark.parametrize("status", ["succeeded", "failed", "skipped"])
def test_an_output_that_some_step_would_read_is_not_unread(
    reader: dict[str, Any], status: str
) -> None:
    items = {"output": {"kind": "json", "schema": {"type": "array"}}}
    plan = plan_of(JOIN[0], JOIN[1] | items, step("S3", "Summarise S1", "S1") | reader)
    outputs = {"S1": TRAINS, "S2": BUSES, "S3": VERDICT}
    named = found(plan, outputs, {"S3": state("S3", status)}, answered={"S3"})
    assert ("unread", "S2", "") not in named


@pytest.mark.parametrize("status", ["failed", "skipped", "cancelled"])
def test_a_step_without_output_has_nothing_to_read(status: str) -> None:
    plan = plan_of(*JOIN, step("S3", "Summarise S1", "S1"))
    outputs = {"S1": TRAINS, "S3": VERDICT}
    assert found(plan, outputs, {"S2": state("S2", status)}, answered={"S3"}) == []


def test_without_an_answer_nothing_is_unread() -> None:
    assert found(plan_of(*JOIN), BOTH) == []


SAME = "Describe trains from Porto to Lisbon with prices, times and stations"


def test_a_prompt_that_is_asked_twice_is_named() -> None:
    plan = plan_of(step("S1", SAME), step("S2", f"Please {SAME}."), step("S3", f"{SAME}!"))
    outputs = {"S1": TRAINS, "S2": TRAINS, "S3": TRAINS}
    assert found(plan, outputs) == [("repeated", "S2", "S1"), ("repeated", "S3", "S1")]


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": SAME.replace("trains", "buses")},
        {"prompt": SAME.replace("Porto", "Faro")},
        {"agent": "Pilot"},
        {"inputs": ["other"]},
        {"model": "another"},
        {"output": {"max_words": 20}},
        {"settings": {"seed": 2}},
        {"for_each": {"items": ["a"]}, "prompt": SAME + " {item}"},
    ],
    ids=["thing", "name", "agent", "inputs", "model", "output", "settings", "for each"],
)
def test_a_step_that_differs_in_what_matters_is_no_repetition(fields: dict[str, Any]) -> None:
    plan = plan_of(
        step("S1", SAME),
        step("S2", f"{SAME}.") | fields,
        inputs={"other": "x", "one": "y"},
    )
    assert found(plan, {"S1": TRAINS, "S2": BUSES}) == []


def test_a_step_that_reads_something_else_is_no_repetition() -> None:
    plan = plan_of(*JOIN, step("S3", "Sum it up", "S1"), step("S4", "Sum it up.", "S2"))
    outputs = {"S1": TRAINS, "S2": BUSES, "S3": TRAINS, "S4": BUSES}
    assert found(plan, outputs) == []


def test_there_is_an_end_to_what_is_named() -> None:
    plan = plan_of(*(step(f"S{n}", SAME + "." * n) for n in range(1, 120)))
    outputs = {each.id: TRAINS for each in plan.steps}
    assert len(found(plan, outputs)) == MOST_FINDINGS


TEXTS = st.text(max_size=80) | st.sampled_from([TRAINS, BUSES, VERDICT, SAME, ""])


@given(st.data())
def test_whatever_was_written_only_steps_of_the_plan_are_named(data: st.DataObject) -> None:
    steps: list[dict[str, Any]] = []
    for n in range(1, data.draw(st.integers(1, 5)) + 1):
        needs = data.draw(st.sets(st.sampled_from([each["id"] for each in steps]))) if steps else ()
        prompt = data.draw(TEXTS.filter(str.strip))
        steps.append(step(f"S{n}", prompt.encode(errors="ignore").decode() or "x", *sorted(needs)))
    try:
        plan = plan_of(*steps)
    except ValueError:
        return
    names = [each.id for each in plan.steps]
    outputs = {name: data.draw(TEXTS) for name in names}
    later = tuple(data.draw(st.sets(st.sampled_from(names))))
    answered = data.draw(st.sets(st.sampled_from(names)))
    for kind, name, other in found(plan, outputs, answered=answered, turns=turns(later)):
        assert name in names
        assert (other in names) == (kind in ("waited", "repeated"))
        assert kind != "unread" or name not in answered
        assert kind != "late" or name in later
        assert kind != "waited" or other in next(
            each.depends_on for each in plan.steps if each.id == name
        )
