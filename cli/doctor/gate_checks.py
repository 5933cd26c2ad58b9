"""What `doctor` says of gates and of the sandbox that two of them run code in."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import SandboxError, SwarmError
from .check import Check

__all__ = ["check_gates", "check_sandbox"]

_SETTING = "PREFECT_INTEGRATIONS_SWARM_SANDBOX"
_WITHOUT = "Without it, do without the gates that run code: --gates python=-unit,-integration"
_LOOSE = (
    "limits-only: what a model wrote runs with limits alone; it sees your files and the network"
)


def check_sandbox() -> Iterable[Check]:
    """Say which sandbox isolates code that a model wrote, and what to do where none can."""
    from ...gates.sandbox import backend_kind, remarks
    from ...settings import SwarmSettings

    loose = SwarmSettings().sandbox == "limits-only"
    try:
        backend, known = backend_kind(), " ".join(remarks())
    except SandboxError as error:
        if loose:
            yield Check("sandbox", "warn", f"{_LOOSE}. {error.problem}", error.fix)
        else:
            yield Check("sandbox", "warn", error.problem, f"{error.fix} {_WITHOUT}.".strip())
        return
    if loose:
        fix = f"This machine can hold it strictly, by {backend}: unset {_SETTING}."
        yield Check("sandbox", "warn", _LOOSE, fix)
    else:
        yield Check("sandbox", "ok", f"strict, by {backend}. {known}")


def check_gates() -> Iterable[Check]:
    """Say which gates that steps get unasked lack their tool."""
    from ...gates import DEFAULT_GATES, gate_name, gates

    known = gates()
    yield Check("gates", "ok", ", ".join(known))
    unasked = dict.fromkeys(gate_name(name) for names in DEFAULT_GATES.values() for name in names)
    for name in unasked:
        try:
            known[name].version()
        except SandboxError:
            continue  # It has a line of its own.
        except SwarmError as error:
            yield Check(f"gate {name}", "warn", error.problem, error.fix)
