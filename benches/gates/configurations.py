"""The ways in which the steps are done, as what a person may set for a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefect_swarm.errors import Category
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.store.failure_policy import RULES, Policy
from steps import KINDS

__all__ = ["CONFIGURATIONS", "SAMPLES", "configured"]

SAMPLES = 8

CONFIGURATIONS: Mapping[str, str] = {
    "single": "no gates, one attempt: whatever isn't empty is accepted",
    "gated": "gates, one attempt",
    "retry": "gates; the default policy without SAMPLE and REPLAN",
    "sample": f"gates; every failure leads to SAMPLE, of {SAMPLES}",
    "default": "gates; the default policy",
    "tier": "gates; the default policy, a second tier by --coder",
}


def configured(
    name: str, *, model: str, coder: str | None = None, seed: int = 0, memory: bool = False
) -> SwarmOptions:
    """Return a configuration's options.

    Args:
        name: One of `CONFIGURATIONS`.
        model: Model of every tier.
        coder: Model of the second tier, of `tier` alone.
        memory: Whether steps are given to the personas there are, and to whom did well before.
    """
    # No step is to profit from what another one's configuration has learned.
    changes: dict[str, Any] = {"model": model, "seed": seed, "memory": memory}
    match name:
        case "single":
            changes |= {"gates": dict.fromkeys(KINDS, ()), "max_attempts": 1}
        case "gated":
            changes |= {"max_attempts": 1}
        case "retry":
            changes |= {"policy": _without("SAMPLE", "REPLAN")}
        case "sample":
            changes |= {"policy": _sampling()}
        case "tier":
            changes |= {"coder": coder}
        case _:
            pass
    return SwarmOptions(**changes)


def _without(*actions: str) -> Policy:
    rules = {
        category: tuple(action for action in rule if action not in actions)
        for category, rule in RULES.items()
    }
    return Policy.model_validate({"rules": rules})


def _sampling() -> Policy:
    # What failed on the way to the model is tried again as ever; what is never retried stays so.
    unchanged = (Category.INFRASTRUCTURE, Category.BUDGET, Category.UPSTREAM)
    rules = {
        category: rule if category in unchanged else ("SAMPLE",) for category, rule in RULES.items()
    }
    return Policy.model_validate({"rules": rules, "samples": SAMPLES})
