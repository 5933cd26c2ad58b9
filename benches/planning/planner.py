"""The ways in which the benches have a plan written; `planner` alone says what each one is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from prefect_swarm.blocks.llama.api import EngineConfig
from prefect_swarm.blocks.llama.gguf import demo_model_path
from prefect_swarm.blocks.llama.model import LlamaCppModel
from prefect_swarm.errors import InputError, PlanError
from prefect_swarm.task_ir import TaskIR
from prefect_swarm.tasks.plan import draft_plan
from prefect_swarm.tasks.plan_lines import grammar, read_lines
from prefect_swarm.tasks.plan_prompt import LINES
from prefect_swarm.tasks.usage import usage_of
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, UserPromptPart
from pydantic_ai.settings import ModelSettings

__all__ = ["PLANNERS", "Planned", "Planner", "planner"]

PLANNERS = {
    "untrained": "the bare instruction, under the grammar, once",
    "prompted": "examples as earlier turns, up to SAMPLES plans",
    "adapter": "with an adapter, once",
    "sampled": "with an adapter, up to SAMPLES plans",
}


@dataclass(frozen=True)
class Planned:
    """What a planner wrote.

    Attributes:
        plan: The plan that it settled on; None where nothing it wrote can be read.
        text: What can't be read, if there is no plan.
        samples: Plans it wrote.
        tokens: Tokens it wrote, all samples together; of an unreadable draft they aren't known.
    """

    plan: TaskIR | None
    text: str = ""
    samples: int = 1
    tokens: int = 0


Planner = Callable[[str], Awaitable[Planned]]


def planner(name: str, *, path: Path | None, adapter: Path | None, samples: int) -> Planner:
    """Return a planner over a model file, the embedded model's if none is given.

    Raises:
        InputError: The planner is unknown, or wants an adapter and has none, or the reverse.
    """
    if name not in PLANNERS:
        raise InputError(f"There is no planner {name!r}.", f"There are {', '.join(PLANNERS)}.")
    if (adapter is not None) != (name in ("adapter", "sampled")):
        raise InputError(
            f"The planner {name!r} {'takes no' if adapter else 'needs an'} adapter.",
            "Give --adapter with the planners adapter and sampled.",
        )
    config = EngineConfig() if adapter is None else replace(EngineConfig(), adapter=adapter)
    model = LlamaCppModel(path or demo_model_path(), config=config)
    most = samples if name in ("prompted", "sampled") else 1

    async def plan(objective: str) -> Planned:
        if name == "untrained":
            return await _bare(objective, model)
        return await _draft(objective, model, most)

    return plan


async def _draft(objective: str, model: LlamaCppModel, samples: int) -> Planned:
    try:
        draft = await draft_plan(objective, model, samples=samples)
    except PlanError as error:
        return Planned(None, error.text, samples)
    return Planned(draft.plan, "", len(draft.candidates), draft.usage.output_tokens)


async def _bare(objective: str, model: LlamaCppModel) -> Planned:
    asked: list[ModelMessage] = [
        ModelRequest([SystemPromptPart(LINES), UserPromptPart(" ".join(objective.split()))])
    ]
    settings: dict[str, Any] = {
        "max_tokens": 640,
        "temperature": 0.0,
        "llamacpp_grammar": grammar(),
    }
    answer = await model_request(model, asked, model_settings=cast("ModelSettings", settings))
    text = answer.text or ""
    if answer.finish_reason == "length":
        text = text.rpartition("\n")[0] or text
    tokens = usage_of([answer]).output_tokens
    try:
        return Planned(read_lines(text, objective), "", 1, tokens)
    except PlanError:
        return Planned(None, text, 1, tokens)
