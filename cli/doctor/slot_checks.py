"""What `doctor` says of how many requests a model file computes at once, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .check import Check

__all__ = ["check_slots", "measure_again"]

_SETTING = "PREFECT_INTEGRATIONS_SWARM_MEASURE_SLOTS"


def measure_again(model: Any) -> bool:
    """Measure a model file of this machine; return whether that may have changed its slots.

    Raises:
        ModelError: The file can't be loaded, or memory is short.
    """
    from ...blocks.local import local_model
    from ...settings import SwarmSettings

    if (local := local_model(model)) is None or SwarmSettings().measure_slots == "off":
        return False
    from ...blocks.llama.slot_gain.measured import measure

    return measure(local.path, local.config).steps is not None


def check_slots(title: str, model: Any) -> Iterable[Check]:
    """Say how many requests are computed at once, and where the number comes from.

    Nothing is said of a model of a provider.
    """
    from ...blocks.local import local_model
    from ...settings import SwarmSettings

    if (local := local_model(model)) is None:
        return
    from ...blocks.llama.slot_gain.kept import kept_path, read_kept

    name = title.replace("model", "slots", 1)
    slots = local.config.n_slots
    if SwarmSettings().measure_slots == "off":
        yield Check(name, "ok", f"{slots}; {_SETTING} is off")
        return
    kept = read_kept(kept_path(local.path, local.config))
    if kept is None:
        yield Check(name, "ok", f"{slots}; not measured", "To measure: prefect-swarm doctor --deep")
    elif kept.steps is None:
        fix = "Try when nothing else computes: prefect-swarm doctor --deep"
        yield Check(name, "ok", f"{slots}; measuring took too long, or gave different results", fix)
    else:
        yield Check(name, "ok", _measured(slots, kept.steps))


def _measured(slots: int, steps: Mapping[int, float]) -> str:
    from ...blocks.llama.slot_gain.worth import worthwhile_slots

    figures = ", ".join(f"{count / seconds:.0f} at {count}" for count, seconds in steps.items())
    most = worthwhile_slots(steps)
    why = "" if slots == most else f"; more than {slots} are not set, or memory is short for them"
    if slots > most:
        why = "; more are set"
    return f"{slots}; measured here, tokens a second: {figures}, so {most}{why}"
