"""A run that waits for a person, in a process of its own: `waiting_run.py start|resume CALLS …`.

`start CALLS PLAN` begins a run, `resume CALLS RUN` goes on with it. The process stays until
somebody answers. Each call of its model is noted in the file CALLS, and what happens is printed.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import load_plan
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.protocol import RunStore
from prefect_swarm.store.question import Question
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

asking.LOOK_S = 0.02


def model(calls: Path) -> FunctionModel:
    """Return a model that notes its calls."""

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        line = str(getattr(last.parts[-1], "content", "")).splitlines()[-1]
        with calls.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        return ModelResponse([TextPart(f"done: {line}")])

    return FunctionModel(answer)


def _say(event: RunEvent) -> None:
    sys.stdout.write(f"{event.kind} {event.step or event.run}\n")
    sys.stdout.flush()


async def _stay(run: RunStore, questions: tuple[Question, ...]) -> None:
    await asyncio.Event().wait()


async def _main(what: str, calls: Path, name: str) -> None:
    made = model(calls)
    control = RunControl(listener=_say, ask_person=_stay)
    with controlled(control), override_models(worker=made, orchestrator=made):
        if what == "resume":
            await resume(name)
            return
        plan = load_plan(Path(name))
        options = SwarmOptions(approve=("plan", "steps"), memory=False, model="test")
        await swarm(plan.objective, plan=plan, options=options)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
