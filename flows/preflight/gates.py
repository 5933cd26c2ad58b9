"""Check before any step starts that the gates of a plan can run here."""

from __future__ import annotations

import asyncio

from ...errors import GateError, SwarmError
from ...gates import Gate, find_gate, gate_name, is_required
from ..compile import CompiledPlan

__all__ = ["check_gates"]


async def check_gates(plan: CompiledPlan) -> None:
    """Ask every gate that a step has to pass whether it can run here.

    Raises:
        GateError: One can't; says which steps ask for it, and what to install.
    """
    steps: dict[str, list[str]] = {}
    for step in plan.steps:
        for gate in filter(is_required, step.gates):
            steps.setdefault(gate_name(gate), []).append(step.id)
    for name, ids in steps.items():
        # A tool that is asked for its version, or the sandbox that is tried, takes a moment.
        if (problem := await asyncio.to_thread(_problem, find_gate(name))) is not None:
            users = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
            raise GateError(
                f"The gate {name} of {users} can't run here: {problem.problem}",
                f"{problem.fix.rstrip('.')}. Or take it away: see --gates.".removeprefix(". "),
            )


def _problem(gate: Gate) -> SwarmError | None:
    try:
        gate.version()
    except SwarmError as error:
        return error
    except Exception as error:  # noqa: BLE001 - another package's gate may raise anything
        return GateError(f"{type(error).__name__}: {error}.")
    return None
