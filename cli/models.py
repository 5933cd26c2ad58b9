"""Finding out about the models of a run before a server is started for it."""

from __future__ import annotations

from ..flows.options import SwarmOptions
from ..task_ir import TIERS, TierName
from .progress.session import say

__all__ = ["check_models", "planner_note"]


async def check_models(options: SwarmOptions, *, orchestrated: bool, plans: bool) -> None:
    """Refuse a model that can't be had, and say if the orchestrator plans without the adapter.

    Args:
        options: What was asked for.
        orchestrated: Whether the orchestrator has something to do.
        plans: Whether it has a plan to write.

    Raises:
        InputError: A model's name has none of the known forms.
        ModelError: A model can't be had.
    """
    from ..blocks.models import resolve_model

    tiers: list[TierName] = [*TIERS, "orchestrator"] if orchestrated else [*TIERS]
    for tier in tiers:
        if not _is_stored(options.model_of(tier)):
            await resolve_model(options.model_of(tier), tier)
    if plans and (note := await planner_note(options)):
        say(note)


async def planner_note(options: SwarmOptions) -> str:
    """Return why a local orchestrator plans without the shipped adapter; empty if none does."""
    from ..blocks.models import resolve_model
    from ..tasks.planner.planner import why_without_adapter

    name = options.model_of("orchestrator")
    if not options.adapter or _is_stored(name):
        return ""
    return why_without_adapter(await resolve_model(name, "orchestrator"))


def _is_stored(name: str) -> bool:
    # Blocks are kept on the Prefect server; the flow looks them up itself.
    return name.startswith("block:")
