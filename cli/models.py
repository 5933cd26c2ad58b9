"""Finding out about the models of a run before a server is started for it."""

from __future__ import annotations

from ..flows.options import SwarmOptions
from ..task_ir import TIERS, TierName

__all__ = ["check_models"]


async def check_models(options: SwarmOptions, *, orchestrated: bool) -> None:
    """Refuse a model that can't be had.

    Args:
        options: What was asked for.
        orchestrated: Whether the orchestrator has something to do.

    Raises:
        InputError: A model's name has none of the known forms.
        ModelError: A model can't be had.
    """
    from ..blocks.models import resolve_model

    tiers: list[TierName] = [*TIERS, "orchestrator"] if orchestrated else [*TIERS]
    for tier in tiers:
        if not _is_stored(options.model_of(tier)):
            await resolve_model(options.model_of(tier), tier)


def _is_stored(name: str) -> bool:
    # Blocks are kept on the Prefect server; the flow looks them up itself.
    return name.startswith("block:")
