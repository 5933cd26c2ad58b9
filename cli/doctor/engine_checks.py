"""Checks of local models by `doctor`: memory and slots."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...errors import InputError, ModelError
from ...flows.options import SwarmOptions
from ...plan.task_ir import TIERS
from .check import Check

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from ...models.llama.residency import Resident
    from ...models.llama.slot_speeds import SlotTable

__all__ = [
    "check_model_memory",
    "check_slots",
    "findings",
    "measure_again",
]


_TITLE = "model memory"


def check_model_memory(options: SwarmOptions) -> Iterable[Check]:
    """Say what local models may take, what each of the tiers' files will, and what is loaded."""
    from ...models.llama.residency import model_memory
    from ...models.llama.sizing import memory_budget

    if planned := asyncio.run(_planned(options)):
        yield from findings(memory_budget(), planned, model_memory().residents())


def findings(budget: int, planned: dict[str, Resident], loaded: list[Resident]) -> Iterable[Check]:
    """Compare what the tiers' files will take with the budget.

    Args:
        budget: Bytes for all of them together.
        planned: The engine of each file that a tier names, by the tiers' names.
        loaded: The engines that are loaded now.
    """
    from ...models.llama.residency import bytes_of, fits_alone, gigabytes
    from ...models.llama.sizing import BUDGET_VARIABLE

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

    Planning with an adapter needs a context of its own, which is not counted.
    """
    from ...models.resolve import resolve_model

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
    from ...models.llama.limits import estimate
    from ...models.llama.residency import Resident
    from ...models.resolve import local_model

    if (local := local_model(model)) is None:
        return None
    path, config = local.path, local.config
    return Resident(local.model_name, (path, config.n_gpu_layers), estimate(path, config))


_DAY_S = 24 * 3600.0


def measure_again(model: Any) -> bool:
    """Measure a model file of this machine; return whether that may have changed its slots.

    Raises:
        ModelError: The file can't be loaded, or memory is short.
    """
    from ...models.resolve import local_model

    if (local := local_model(model)) is None:
        return False
    from ...models.llama.slot_speeds import measure

    return measure(local.path, local.config) is not None


def check_slots(title: str, model: Any) -> Iterable[Check]:
    """Say how many requests are computed in parallel, and where the number comes from.

    Nothing is said of a model of a provider.
    """
    from ...models.resolve import local_model

    if (local := local_model(model)) is None:
        return
    from ...models.llama.slot_speeds import read_table, table_path

    name = title.replace("model", "slots", 1)
    slots = local.config.n_slots
    if table := read_table(table_path(local.path, local.config)):
        yield Check(name, "ok", _measured(slots, table, time.time()))
    else:
        fix = "To measure while nothing else computes: prefect-swarm doctor --deep"
        yield Check(name, "ok", f"{slots}, by memory; not measured", fix)


def _measured(slots: int, table: SlotTable, now: float) -> str:
    from ...models.llama.sizing import MOST_SLOTS, best_slots

    figures = ", ".join(f"{speed:.0f} at {count}" for count, speed in table.speeds.items())
    best = best_slots(table.speeds, MOST_SLOTS)
    why = "" if slots == best else f"; more than {slots} are not set, or memory is short for them"
    if slots > best:
        why = "; more are set"
    days = max(0, int((now - table.measured_at) // _DAY_S))
    when = "today" if days == 0 else "1 day ago" if days == 1 else f"{days} days ago"
    return f"{slots}; measured here {when}, tokens a second: {figures}, so {best}{why}"
