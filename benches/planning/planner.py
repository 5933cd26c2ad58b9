"""The ways in which the benches have a plan written; `planner` alone says what each one is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from prefect_swarm.errors import InputError, PlanError
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel, LlamaCppSettings
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.tasks.planner.conversation import PlanContext
from prefect_swarm.tasks.planner.conversation import Planner as PlanWriter
from prefect_swarm.tasks.planner.line_format import (
    flat,
    grammar,
    read_lines,
    repair_plan,
    write_lines,
)
from prefect_swarm.tasks.planner.planners import (
    SAMPLES,
    AdapterPlanner,
    GrammarPlanner,
    trained_messages,
)
from prefect_swarm.tasks.task_runs import usage_of
from pydantic_ai.direct import model_request

__all__ = ["PLANNERS", "Planned", "Planner", "planner"]

PLANNERS = {
    "untrained": "asked as the adapter is, without one, once",
    "grammar": "as any model file without an adapter is, one plan and at most one repair",
    "adapter": "with an adapter, once",
    "sampled": "with an adapter, one plan, or the best of 6 where it scores low",
}
_TOKENS = 640  # what a plan may take with an adapter


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

    @property
    def lines(self) -> str:
        """The plan in lines, each prompt in one; or what can't be read as a plan."""
        if self.plan is None:
            return self.text
        return write_lines(flat(self.plan))


Planner = Callable[[str], Awaitable[Planned]]


def planner(
    name: str, *, path: Path | None = None, adapter: Path | None = None, samples: int | None = None
) -> Planner:
    """Return a planner.

    Args:
        name: One of `PLANNERS`.
        path: A model file; the embedded model's if None.
        adapter: An adapter file, for the planners that take one; the file's own one if None.
        samples: The most plans for an objective, for the planners that write several; their own
            number if None.

    Raises:
        InputError: The planner is unknown, is given an adapter and takes none, or there is none.
        ModelError: The model or the adapter can't be one.
    """
    if name not in PLANNERS:
        raise InputError(f"There is no planner {name!r}.", f"There are {', '.join(PLANNERS)}.")
    adapted = name in ("adapter", "sampled")
    if adapter is not None and not adapted:
        raise InputError(f"The planner {name!r} takes no adapter.", "Leave --adapter out.")
    model = LlamaCppModel(path or demo_model_path(), planner_adapter=adapter or "default")
    if adapted and model.planner_adapter is None:
        raise InputError(f"{model.model_name} has no adapter of its own.", "Give --adapter.")
    most = (samples or SAMPLES) if name == "sampled" else 1

    async def plan(objective: str) -> Planned:
        if name == "untrained":
            return await _bare(objective, model)
        if adapted and model.planner_adapter is not None:
            return await _draft(
                objective, AdapterPlanner(model, model.planner_adapter, samples=most)
            )
        return await _draft(objective, GrammarPlanner(model, model))

    return plan


async def _draft(objective: str, writer: PlanWriter) -> Planned:
    try:
        draft = await writer.plan(objective, PlanContext())
    except PlanError as error:
        return Planned(None, error.text)
    return Planned(draft.plan, "", draft.candidates, draft.usage.output_tokens)


async def _bare(objective: str, model: LlamaCppModel) -> Planned:
    settings = LlamaCppSettings(max_tokens=_TOKENS, temperature=0.0, llamacpp_grammar=grammar())
    answer = await model_request(model, trained_messages(objective), model_settings=settings)
    text = answer.text or ""
    if answer.finish_reason == "length":
        text = text.rpartition("\n")[0] or text
    tokens = usage_of([answer]).output_tokens
    try:
        return Planned(repair_plan(read_lines(text, objective)).plan, "", 1, tokens)
    except PlanError:
        return Planned(None, text, 1, tokens)
