"""What `doctor` says of the memory that local models take."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...errors import InputError, ModelError
from ...flows.options import SwarmOptions
from ...task_ir import TIERS
from .check import Check

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from ...blocks.llama.residency import Resident

__all__ = ["check_model_memory", "findings"]

_TITLE = "model memory"


def check_model_memory(options: SwarmOptions) -> Iterable[Check]:
    """Say what local models may take, what each of the tiers' files will, and what is loaded."""
    from ...blocks.llama.residency import memory_budget, model_memory

    if planned := asyncio.run(_planned(options)):
        yield from findings(memory_budget(), planned, model_memory().residents())


def findings(budget: int, planned: dict[str, Resident], loaded: list[Resident]) -> Iterable[Check]:
    """Compare what the tiers' files will take with the budget.

    Args:
        budget: Bytes for all of them together.
        planned: The engine of each file that a tier names, by the tiers' names.
        loaded: The engines that are loaded now.
    """
    from ...blocks.llama.residency.budget import BUDGET_VARIABLE
    from ...blocks.llama.residency.model_memory import gigabytes
    from ...blocks.llama.residency.unloading import bytes_of, fits_alone

    for tiers, resident in planned.items():
        weights, own = map(gigabytes, resident.use)
        detail = f"{tiers}: {resident.name} takes {weights} of weights and {own} of context"
        if fits_alone(resident, budget):
            yield Check(_TITLE, "ok", detail)
        else:
            more = f"Set {BUDGET_VARIABLE}, or take a smaller file, n_ctx or n_slots."
            yield Check(_TITLE, "fail", f"{detail}; more than {gigabytes(budget)}", more)
    together = f"{gigabytes(bytes_of(planned.values()))} of {gigabytes(budget)} for all models"
    if bytes_of(planned.values()) > budget:
        together += "; they take turns, and load again each time"
    names = ", ".join(dict.fromkeys(resident.name for resident in loaded)) or "none"
    yield Check(_TITLE, "ok", f"{together}; loaded: {names} ({gigabytes(bytes_of(loaded))})")


async def _planned(options: SwarmOptions) -> dict[str, Resident]:
    """Find the engines that the tiers' models will need; what is wrong with one is said elsewhere.

    Planning with an adapter needs a context of its own, and the embedded model's weights once more
    where the adapter is added to them; neither is counted.
    """
    from ...blocks.models import resolve_model

    found: dict[str, list[str]] = {}
    engines: dict[str, Resident] = {}
    for tier in (*TIERS, "orchestrator"):
        name = options.model_of(tier)
        if name.startswith("block:"):
            continue  # It is kept on the Prefect server.
        try:
            model = await resolve_model(name, tier)
        except (InputError, ModelError):
            continue
        if (resident := _resident(model)) is not None:
            found.setdefault(name, []).append(tier)
            engines[name] = resident
    return {", ".join(tiers): engines[name] for name, tiers in found.items()}


def _resident(model: Model) -> Resident | None:
    from ...blocks.llama.residency import Resident
    from ...blocks.llama.residency.estimate import estimate
    from ...blocks.local import local_model

    if (local := local_model(model)) is None:
        return None
    path, config = local.path, local.config
    return Resident(local.model_name, (path, config.n_gpu_layers), estimate(path, config))
