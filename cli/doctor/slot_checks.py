"""What `doctor` says of how many requests a model file computes at once, and why."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .check import Check

if TYPE_CHECKING:
    from ...blocks.llama.slot_speeds.table import SlotTable

__all__ = ["check_slots", "measure_again"]

_SETTING = "PREFECT_INTEGRATIONS_SWARM_MEASURE_SLOTS"
_DAY_S = 24 * 3600.0


def measure_again(model: Any) -> bool:
    """Measure a model file of this machine; return whether that may have changed its slots.

    Raises:
        ModelError: The file can't be loaded, or memory is short.
    """
    from ...blocks.local import local_model
    from ...settings import SwarmSettings

    if (local := local_model(model)) is None or SwarmSettings().measure_slots == "off":
        return False
    from ...blocks.llama.slot_speeds.measuring import measure

    return measure(local.path, local.config).speeds is not None


def check_slots(title: str, model: Any) -> Iterable[Check]:
    """Say how many requests are computed at once, and where the number comes from.

    Nothing is said of a model of a provider.
    """
    from ...blocks.local import local_model
    from ...settings import SwarmSettings

    if (local := local_model(model)) is None:
        return
    from ...blocks.llama.slot_speeds.table import read_table, table_path

    name = title.replace("model", "slots", 1)
    slots = local.config.n_slots
    if SwarmSettings().measure_slots == "off":
        yield Check(name, "ok", f"{slots}; {_SETTING} is off")
        return
    table = read_table(table_path(local.path, local.config))
    if table is None:
        yield Check(name, "ok", f"{slots}; not measured", "To measure: prefect-swarm doctor --deep")
    elif table.speeds is None:
        why = "something else computed while it was measured, or it took too long"
        fix = "Try when nothing else computes: prefect-swarm doctor --deep"
        yield Check(name, "ok", f"{slots}; {why}", fix)
    else:
        yield Check(name, "ok", _measured(slots, table, time.time()))


def _measured(slots: int, table: SlotTable, now: float) -> str:
    from ...blocks.llama.sizing import MOST_SLOTS, best_slots

    speeds = table.speeds or {}
    figures = ", ".join(f"{speed:.0f} at {count}" for count, speed in speeds.items())
    best = best_slots(speeds, MOST_SLOTS)
    why = "" if slots == best else f"; more than {slots} are not set, or memory is short for them"
    if slots > best:
        why = "; more are set"
    days = max(0, int((now - table.measured_at) // _DAY_S))
    when = "today" if days == 0 else "1 day ago" if days == 1 else f"{days} days ago"
    return f"{slots}; measured here {when}, tokens a second: {figures}, so {best}{why}"
