"""What may change when a run is resumed, and which of its steps begin again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError

from ...errors import Category, InputError
from ...result import StepResult, SwarmResult
from ...tasks.failure_router import ATTEMPTS_SPENT, counts
from ..options import SwarmOptions

__all__ = ["CHANGEABLE", "changed_options", "goes_on", "steps_to_begin_again", "with_changes"]

CHANGEABLE = (
    "model",
    "worker",
    "coder",
    "architect",
    "orchestrator",
    "key_env",
    "max_concurrency",
    "tiers",
    "max_tokens",
    "max_usd",
    "timeout_s",
    "step_timeout_s",
    "max_attempts",
    "max_output_tokens",
    "max_input_tokens",
    "temperature",
    "start_over",
)
"""The options that a resumed run may get other values for: its models, its bounds, and whether it
begins from nothing where its folder isn't."""


def changed_options(stored: SwarmOptions, changes: Mapping[str, Any]) -> SwarmOptions:
    """Return a run's options with some of them changed; bounds of tiers are changed by the bound.

    Raises:
        InputError: An option can't be changed any more, or its value is out of its range.
    """
    if unknown := sorted(set(changes) - set(CHANGEABLE)):
        raise InputError(
            f"{unknown[0]} can't be changed in a run that has begun.",
            f"These can: {', '.join(CHANGEABLE)}.",
        )
    return with_changes(stored, changes)


def with_changes(stored: SwarmOptions, changes: Mapping[str, Any]) -> SwarmOptions:
    """Return options with some of them changed; bounds of tiers and tools are changed each alone.

    Raises:
        InputError: A value is out of its range.
    """
    values = {**stored.model_dump(mode="json"), **changes}
    if limits := changes.get("tool_limits"):
        values["tool_limits"] = {**stored.tool_limits.model_dump(mode="json"), **dict(limits)}
    if tiers := cast("Mapping[str, Mapping[str, Any]] | None", changes.get("tiers")):
        before = stored.model_dump(mode="json", exclude_none=True)["tiers"]
        values["tiers"] = before | {
            tier: {**before.get(tier, {}), **bounds} for tier, bounds in tiers.items()
        }
    try:
        return SwarmOptions.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{where} got {first['input']!r}: {first['msg']}.") from None


def goes_on(result: SwarmResult, *, retry_failed: bool, changes: Mapping[str, Any]) -> bool:
    """Say whether anything of a run that has ended is done when it is resumed.

    Raises:
        InputError: Changes were given, and nothing would come of them.
    """
    if result.status != "partial":
        return result.status != "completed"
    if retry_failed:
        return True
    if changes and not any(_stopped_by_bound(step, changes) for step in result.steps):
        raise InputError(
            f"Run {result.run_id} is partial, but no step was stopped by what was changed.",
            "Add --retry-failed to have the failed steps tried again.",
        )
    return bool(changes)


def steps_to_begin_again(
    result: SwarmResult, *, retry_failed: bool, changes: Mapping[str, Any]
) -> frozenset[str]:
    """Return the steps whose attempts are made anew; others that failed go on after their last.

    A step that had succeeded is never among them.
    """
    everything = retry_failed or result.status == "failed"
    return frozenset(
        step.id
        for step in result.steps
        if step.attempts and step.status != "succeeded" and _begins_again(step, changes, everything)
    )


def _begins_again(step: StepResult, changes: Mapping[str, Any], everything: bool) -> bool:
    if step.category is Category.BUDGET:
        # One that was refused has attempts that are worth keeping; one whose last attempt ran out
        # of room would come from the cache as it was.
        return step.attempts[-1].category is Category.BUDGET and (everything or bool(changes))
    return everything and not _used_up(step, changes)


def _stopped_by_bound(step: StepResult, changes: Mapping[str, Any]) -> bool:
    return step.category is Category.BUDGET or _used_up(step, changes)


def _used_up(step: StepResult, changes: Mapping[str, Any]) -> bool:
    """Whether a step failed with all the attempts that it had, and has more now."""
    decision = step.attempts[-1].decision if step.attempts else None
    counted = sum(counts(attempt.category) for attempt in step.attempts if attempt.category)
    is_spent = decision is not None and decision.rule == ATTEMPTS_SPENT
    return is_spent and changes.get("max_attempts", 0) > counted
