"""Finding out about the models of a run before a server is started for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..flows.options import SwarmOptions
from ..host.certificates import check_ca_files
from ..host.socks import check_proxies
from ..task_ir import TIERS, TierName
from .progress.session import say

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["check_models", "measure_slots", "prepare_weights"]


async def check_models(options: SwarmOptions, *, orchestrated: bool) -> None:
    """Refuse a model that can't be had, and prepare those that are computed with here.

    Args:
        options: What was asked for.
        orchestrated: Whether the orchestrator has something to do.

    Raises:
        InputError: A model's name has none of the known forms, or no server can be reached with
            what the environment says of proxies and certificates.
        ModelError: A model can't be had.
    """
    # First: with a wrong variable not even Prefect can be imported.
    check_proxies()
    check_ca_files(os.environ)
    from ..blocks.models import resolve_model

    tiers: list[TierName] = [*TIERS, "orchestrator"] if orchestrated else [*TIERS]
    measured: set[str] = set()
    for tier in tiers:
        name = options.model_of(tier)
        if _is_stored(name):
            continue
        model = await resolve_model(name, tier)
        prepare_weights(model, planning=tier == "orchestrator" and options.adapter)
        # Where something else computes each look takes a tenth of a second.
        if name not in measured:
            measured.add(name)
            measure_slots(model)


def prepare_weights(model: Model, *, planning: bool) -> None:
    """Make now what the embedded model would make at its first request, and say so.

    Args:
        model: A model of a run.
        planning: Whether plans are asked of it, with its adapter.

    Raises:
        ModelError: Its adapter is damaged.
    """
    from ..blocks.llama.gguf import is_demo_model
    from ..blocks.local import local_model

    local = local_model(model)
    if local is None or not is_demo_model(local.path):
        return
    from ..blocks.llama.merged.prepared import merged_of
    from ..blocks.llama.requantised.prepared import weights_of

    # Without the first file there can't be the second, and a line has said so.
    prepared = weights_of(local.path, say) != local.path
    if prepared and planning and (adapter := local.planner_adapter) is not None:
        merged_of(local.path, adapter, say)


def measure_slots(model: Model) -> None:
    """Measure how many requests a small model file is best asked at once, if that is due."""
    from ..blocks.local import local_model

    if (local := local_model(model)) is not None:
        from ..blocks.llama.slot_speeds.table import measure_if_due

        measure_if_due(local.path, local.config, say)


def _is_stored(name: str) -> bool:
    # Blocks are kept on the Prefect server; the flow looks them up itself.
    return name.startswith("block:")
