"""Forks, edits and resumes of runs with members: what is as it was isn't asked again."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
from flow_runs import plan_of, run
from prefect.client.schemas.objects import State
from prefect_swarm import fork, resume
from prefect_swarm.cli.app import app
from prefect_swarm.errors import Category, InputError
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import prepare_fork
from prefect_swarm.flows.swarm import swarm as swarm_flow
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, Question, RunWaitingError
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")
ASKED = re.compile("^(?:list|compare|(?:read|judge|skim|find|check|test) .+)$", re.MULTILINE)
JSON = {"kind": "json", "schema": {"type": "array"}}


def over_list(*items: str, **last: Any) -> TaskIR:
    """A plan with its items in it, two steps for each, and one that reads all."""
    return plan_of(
        {"id": "S1", "prompt": "read {item}", "for_each": {"items": list(items)}},
        {"id": "S2", "prompt": "judge {item}", "for_each": {"items": "S1"}},
        {"id": "S3", "prompt": "compare", "depends_on": ["S2"], **last},
        final_step="S3",
    )


def over_output(**read: Any) -> TaskIR:
    """A plan whose first step finds the items."""
    return plan_of(
        {"id": "S1", "prompt": "list", "output": JSON},
        {"id": "S2", "prompt": "read {item}", "for_each": {"items": "S1", "at": ""}, **read},
        {"id": "S3", "prompt": "judge {item}", "for_each": {"items": "S2"}},
        {"id": "S4", "prompt": "compare", "depends_on": ["S3"]},
        final_step="S4",
    )


class Answers(Script):
    """Says what it was asked for; lists what it is given to list.

    Attributes:
        items: What it lists.
    """

    def __init__(self, *items: str, fails: str = "-") -> None:
        super().__init__(reply=self.answer)
        self.items, self.fails = list(items), fails

    def answer(self, prompt: str) -> str | Exception:
        asked = self.short(prompt)
        if asked == "list":
            return json.dumps(self.items)
        return "" if re.fullmatch(self.fails, asked) else f"done: {asked}"

    def short(self, prompt: str) -> str:
        plain = re.sub("[“”]", "", prompt)
        return ASKED.findall(plain)[-1]

    def asked(self) -> list[str]:
        """Return what was asked since this was called last."""
        asked = sorted(map(self.short, self.prompts))
        self.prompts.clear()
        return asked


@contextmanager
def answering(*items: str, fails: str = "-") -> Generator[Answers]:
    script = Answers(*items, fails=fails)
    with scripted(script):
        yield script


def forked(name: str, **how: Any) -> SwarmResult:
    return asyncio.run(fork(name, **how))


def taken(result: SwarmResult) -> set[str]:
    return {step.id for step in result.steps if step.taken_from}


def test_a_fork_does_only_the_items_that_are_new_whatever_their_numbers() -> None:
    with answering() as script:
        source = run(over_list("a", "b"), memory=False)
        script.asked()
        result = forked(source.run_id, plan=over_list("new", "a", "b"))
    assert script.asked() == ["compare", "judge new", "read new"]
    assert (result.status, result.answer) == ("completed", "done: compare")
    assert taken(result) == {"S1[2]", "S1[3]", "S2[2]", "S2[3]"}
    outputs = [RunFolder.find(result.run_id).output(f"S2[{n}]") for n in (1, 2, 3)]
    assert outputs == ["done: judge new", "done: judge a", "done: judge b"]


def test_a_fork_does_only_the_items_that_a_step_finds_now() -> None:
    with answering("a", "b", "c") as script:
        source = run(over_output(), memory=False)
        script.asked()
        script.items = ["c", "a", "x"]
        result = forked(source.run_id, again=["S1"])
        assert script.asked() == ["compare", "judge x", "list", "read x"]
        # The fork can be forked in its turn.
        forked(result.run_id, again=["S4"])
        assert script.asked() == ["compare"]


def test_a_fork_does_one_instance_anew_and_what_reads_it() -> None:
    with answering("a", "b", "c") as script:
        source = run(over_output(), memory=False)
        script.asked()
        result = forked(source.run_id, again=["S2[2]"])
    assert script.asked() == ["compare", "judge b", "read b"]
    assert taken(result) == {"S1", "S2[1]", "S2[3]", "S3[1]", "S3[3]"}


def test_a_fork_from_a_step_with_instances_does_all_of_them_anew() -> None:
    with answering("a", "b") as script:
        source = run(over_output(), memory=False)
        script.asked()
        forked(source.run_id, again=["S3"])
        assert script.asked() == ["compare", "judge a", "judge b"]


def test_a_fork_of_an_instance_that_is_not_there_is_refused() -> None:
    with answering("a", "b"):
        source = run(over_output(), memory=False)
        with pytest.raises(InputError, match=r"no step 'S2\[3\]'"):
            prepare_fork(source.run_id, None, ["S2[3]"])


def test_a_fork_whose_instances_are_asked_for_something_else_asks_them() -> None:
    with answering("a", "b") as script:
        source = run(over_output(), memory=False)
        script.asked()
        forked(source.run_id, plan=over_output(prompt="skim {item}"))
    assert script.asked() == ["compare", "judge a", "judge b", "skim a", "skim b"]


def test_a_fork_takes_over_rounds_and_inner_steps() -> None:
    agents = [{"name": "Reader", "system_prompt": "You read closely."}]

    def nested(last: str) -> TaskIR:
        inner = {
            "steps": [
                {"id": "S1", "agent": "Reader", "prompt": "find {item}"},
                {"id": "S2", "agent": "Reader", "prompt": last, "depends_on": ["S1"]},
            ]
        }
        return TaskIR.model_validate(
            {
                "objective": "Find out",
                "agents": agents,
                "steps": [
                    {
                        "id": "S1",
                        "plan": inner,
                        "for_each": {"items": ["a", "b"]},
                        "repeat": {"until": {"matches": "done"}},
                    }
                ],
            }
        )

    with answering() as script:
        source = run(nested("check {item}"), memory=False)
        assert script.asked() == ["check a", "check b", "find a", "find b"]
        result = forked(source.run_id, plan=nested("test {item}"))
    assert script.asked() == ["test a", "test b"]
    assert taken(result) == {"S1[1]r1.S1", "S1[2]r1.S1"}


# --- edits --------------------------------------------------------------------------------------


def waiting(plan: TaskIR) -> str:
    """Run a plan until it waits for a person; return the run's id."""
    options = SwarmOptions(approve=("steps",), memory=False)
    with pytest.raises(RunWaitingError) as caught:
        asyncio.run(swarm(plan.objective, plan=plan, options=options))
    return caught.value.run_id


def edit(name: str, plan: TaskIR) -> None:
    approvals = Approvals(RunFolder.find(name))
    question = Question(id="edit", asked="plan", subject="edit", title="An edit")
    data = plan.model_dump(mode="json")
    approvals.answer(Answer(question=approvals.ask(question).id, verdict="edited", plan=data))


def approve_all(name: str) -> None:
    approvals = Approvals(RunFolder.find(name))
    for question in approvals.pending():
        approvals.answer(Answer(question=question.id, verdict="approved"))


def gone_on(name: str, change: Callable[[str], None], **how: Any) -> SwarmResult:
    change(name)
    with pytest.raises(RunWaitingError):
        asyncio.run(resume(name, **how))
    approve_all(name)
    return asyncio.run(resume(name, **how))


@pytest.mark.parametrize(
    ("items", "asked"),
    [
        (["a", "b"], []),
        (["new", "a", "b"], ["judge new", "read new"]),
        (["b"], []),
        (["b", "a"], []),
    ],
)
def test_an_edit_leaves_the_instances_of_items_that_stay(
    items: list[str], asked: list[str]
) -> None:
    with answering() as script:
        name = waiting(over_list("a", "b", approval=True))
        assert script.asked() == ["judge a", "judge b", "read a", "read b"]
        after = over_list(*items, approval=True, timeout_s=100)
        result = gone_on(name, lambda name: edit(name, after))
    assert script.asked() == sorted(["compare", *asked])
    assert result.status == "completed"
    ids = [step.id for step in result.steps if step.parent]
    assert ids == [f"{step}[{n}]" for step in ("S1", "S2") for n in range(1, len(items) + 1)]
    outputs = [RunFolder.find(name).output(f"S2[{n}]") for n in range(1, len(items) + 1)]
    assert outputs == [f"done: judge {item}" for item in items]


# --- resumes ------------------------------------------------------------------------------------


def everything(*items: str) -> list[str]:
    """Return all that a run of `over_output` asks for."""
    each = [f"{do} {item}" for do in ("judge", "read") for item in items]
    return sorted(["compare", "list", *each])


def test_failed_instances_alone_are_tried_again() -> None:
    with answering("a", "b", "c", fails="read b") as script:
        result = run(over_output(), memory=False, max_attempts=1)
        assert script.asked() == ["judge a", "judge c", "list", "read a", "read b", "read c"]
        assert result.status == "partial"
        script.fails = "-"
        again = asyncio.run(resume(result.run_id, retry_failed=True))
        assert script.asked() == ["compare", "judge b", "read b"]
    assert (again.status, again.answer) == ("completed", "done: compare")


def test_a_completed_run_says_how_the_instances_are_done_anew_that_it_did_without() -> None:
    plan = over_output(for_each={"items": "S1", "at": "", "at_least": 2})
    with answering("a", "b", "c", fails="read b") as script:
        result = run(plan, memory=False, max_attempts=1)
        assert result.status == "completed"
        script.asked()
        script.fails = "-"
        resumed = CliRunner().invoke(app, ["resume", result.run_id, "--retry-failed"])
        assert script.asked() == []
        says = "1 item missing: S2[2]. To do again what is missing, and what reads it: "
        for shown in (resumed, CliRunner().invoke(app, ["inspect", result.run_id])):
            assert f"{says}prefect-swarm fork" in " ".join(shown.stdout.split())
        again = forked(result.run_id)
    assert script.asked() == ["compare", "judge b", "read b"]
    assert again.status == "completed"
    assert "failed" not in {step.status for step in again.steps}


def test_instances_that_could_not_be_paid_go_on_with_a_higher_bound() -> None:
    names = [f"item {n}" for n in range(20)]
    with answering(*names) as script:
        bounds = {"max_tokens": 1200, "max_output_tokens": 200, "max_concurrency": 1}
        result = run(over_output(), memory=False, **bounds)
        first = script.asked()
        instances = [step for step in result.steps if step.parent == "S2"]
        unpaid = [step.id for step in instances if step.category is Category.BUDGET]
        paid = [step.id for step in instances if step.status == "succeeded"]
        assert unpaid
        assert paid
        assert len(unpaid) + len(paid) == len(names)
        changes = {"max_tokens": 1_000_000}
        again = asyncio.run(resume(result.run_id, changes=changes))
        second = script.asked()
    everything = [
        "compare",
        "list",
        *(f"{do} {name}" for do in ("judge", "read") for name in names),
    ]
    assert sorted([*first, *second]) == sorted(everything)
    assert again.status == "completed"


def test_a_run_that_is_cancelled_among_its_instances_goes_on_with_the_others() -> None:
    plan = over_output()

    async def cancelled() -> State[Any]:
        def handle(event: RunEvent) -> None:
            if event.kind == "succeeded" and event.step == "S2[1]":
                control.cancel.set()

        with controlled(RunControl(handle)) as control:
            options = SwarmOptions(memory=False, max_concurrency=1)
            return await flow(plan.objective, plan=plan, options=options, return_state=True)

    flow: Any = swarm_flow
    with answering("a", "b", "c") as script:
        state = asyncio.run(cancelled())
        assert state.type.value == "CANCELLED"
        first = script.asked()
        again = asyncio.run(resume(str(state.state_details.flow_run_id)))
        second = script.asked()
    assert again.status == "completed"
    everything = [
        "compare",
        "list",
        *(f"{do} {item}" for do in ("judge", "read") for item in "abc"),
    ]
    assert sorted([*first, *second]) == sorted(everything)
    assert "compare" not in first


def test_a_resumed_run_takes_a_hundred_rounds_that_are_over() -> None:
    """However many are restored at once, they are no depth of calls."""
    inner = {"steps": [{"id": "S1", "agent": "Reader", "prompt": "check {round}"}]}
    plan = TaskIR.model_validate(
        {
            "objective": "Find out",
            "agents": [{"name": "Reader", "system_prompt": "You read closely."}],
            "steps": [
                {"id": "S1", "plan": inner, "repeat": {"until": {"is": ""}, "max_rounds": 100}},
                {"id": "S2", "agent": "Reader", "prompt": "compare"},
            ],
        }
    )
    with answering() as script:
        result = run(plan, memory=False)
        assert len(script.asked()) == 101
        again = asyncio.run(resume(result.run_id, retry_failed=True))
    assert script.asked() == []
    assert len([step for step in again.steps if step.attempts]) == 101
