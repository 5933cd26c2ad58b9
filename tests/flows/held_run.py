"""A run in a process of its own, for tests to kill: `held_run.py PLAN|LINES.jsonl|- CALLS HELD…`.

`fork:RUN:STEP` in the plan's place forks a run, of which that step is done anew; `nested:PLAN`
runs the plan in another flow.

Its model notes each call in the file CALLS and never answers a call whose name is among HELD; in a
call that is there as `SIGTERM NAME` it gets that signal, as `SIGTERM after NAME` right after. What
happens is printed line by line, so that whoever reads it knows when to kill.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Collection
from pathlib import Path
from typing import cast

from prefect import flow
from prefect.client.schemas.objects import FlowRun
from prefect.flow_engine import run_flow_async
from prefect_swarm.flows.batch import BatchSummary, swarm_batch
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions, TierOptions
from prefect_swarm.flows.resume import fork, resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR, load_plan
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.result import SwarmResult
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

OBJECTIVE = "Compare two things and say which is better"
OPTIONS = SwarmOptions(
    model="test", seed=7, tiers={"worker": TierOptions(concurrency=4)}, temperature=0.5
)
DRAFT = {
    "create_subagent": [{"name": "Reader", "system_prompt": "You read."}],
    "assign_task": [
        {"agent": "Reader", "prompt": "one"},
        {"agent": "Reader", "prompt": "two"},
    ],
}


def model(calls: Path, held: Collection[str]) -> FunctionModel:
    """Return a model that notes its calls: `plan`, `answer`, or a step's prompt.

    A prompt `… fails once` is answered badly until it comes with feedback; the second call of it
    is noted as `… fails once, again`. A review is noted as `review`, and refuses what isn't by
    such a second call.
    """

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        name = _name(messages, info)
        with calls.open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        _print("called", name)
        if f"SIGTERM {name}" in held:
            signal.raise_signal(signal.SIGTERM)
        if f"SIGTERM after {name}" in held:
            asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGTERM)
        if name in held:
            await asyncio.Event().wait()
        if name == "plan":
            return ModelResponse([ToolCallPart(info.output_tools[0].name, DRAFT)])
        if name == "review":
            verdict = "accept" if ", again" in _prompt(messages) else "refuse"
            return ModelResponse([TextPart(f'{{"reasons": ["thin"], "verdict": "{verdict}"}}')])
        if name.endswith("fails once"):
            return ModelResponse([TextPart("not JSON")])
        return ModelResponse([TextPart('{"by": "json"}' if "fails" in name else f"done: {name}")])

    return FunctionModel(answer)


def _name(messages: list[ModelMessage], info: AgentInfo) -> str:
    if info.output_tools:
        return "plan"
    prompt = _prompt(messages)
    if "Try to refute" in prompt:
        return "review"
    if "Write the final answer" in prompt:
        return "answer"
    work = [part for part in prompt.split("\n\n") if part.startswith("do: ")]
    name = work[0].removeprefix("do: ") if work else prompt
    return f"{name}, again" if "was not accepted" in prompt else name


def _prompt(messages: list[ModelMessage]) -> str:
    return str(cast("UserPromptPart", messages[-1].parts[-1]).content)


def _say(event: RunEvent) -> None:
    _print(event.kind, event.step or event.run)


def _print(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


async def run(plan: TaskIR | None, calls: Path, held: Collection[str]) -> SwarmResult:
    """Start a run."""
    held_model = model(calls, held)
    with override_models(
        worker=held_model, coder=held_model, architect=held_model, orchestrator=held_model
    ):
        return await swarm(OBJECTIVE, plan=plan, options=OPTIONS)


async def run_fork(name: str, again: str, calls: Path, held: Collection[str]) -> SwarmResult:
    """Fork a run, of which a step is done anew."""
    held_model = model(calls, held)
    with override_models(
        worker=held_model, coder=held_model, architect=held_model, orchestrator=held_model
    ):
        return await fork(name, again=[again])


async def run_batch(lines: Path, calls: Path, held: Collection[str]) -> BatchSummary:
    """Start a batch; its output goes beside its input."""
    held_model = model(calls, held)
    with override_models(
        worker=held_model, coder=held_model, architect=held_model, orchestrator=held_model
    ):
        return await swarm_batch(str(lines), f"{lines}.out", OPTIONS)


async def go_on_with_batch(flow_run: FlowRun, calls: Path) -> BatchSummary:
    """Run a batch's flow run again, as a worker does."""
    held_model = model(calls, ())
    with override_models(
        worker=held_model, coder=held_model, architect=held_model, orchestrator=held_model
    ):
        summary = await run_flow_async(
            swarm_batch, flow_run=flow_run, parameters=flow_run.parameters
        )
    return BatchSummary.model_validate(summary)


async def go_on(name: str, calls: Path, control: RunControl | None = None) -> SwarmResult:
    """Resume a run, with a model that answers everything."""
    held_model = model(calls, ())
    with (
        override_models(
            worker=held_model, coder=held_model, architect=held_model, orchestrator=held_model
        ),
        controlled(control or RunControl()),
    ):
        return await resume(name)


async def _main(plan: str, calls: str, *held: str) -> None:
    with controlled(RunControl(listener=_say)):
        if plan.endswith(".jsonl"):
            await run_batch(Path(plan), Path(calls), held)
        elif plan.startswith("fork:"):
            _, name, again = plan.split(":")
            await run_fork(name, again, Path(calls), held)
        elif plan.startswith("nested:"):
            nested = load_plan(Path(plan.removeprefix("nested:")))

            @flow
            async def outer() -> None:
                await run(nested, Path(calls), held)

            await outer()
        else:
            await run(None if plan == "-" else load_plan(Path(plan)), Path(calls), held)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
