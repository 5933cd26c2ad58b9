"""Options that people share: those of a block, below what a deployment and a run say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ..errors import InputError
from ..plan.task_ir import describe
from ..settings import read_block
from ..store.failure_policy import Policy
from .deployed_options import merge_options
from .options import SwarmOptions, checked_options

__all__ = [
    "OPTIONS_BLOCK",
    "POLICY_BLOCK",
    "check_shared_options",
    "expanded",
    "given_options",
    "merge_with_block",
    "with_policy",
]

OPTIONS_BLOCK = "swarm-options"
"""The slug of the blocks that have options."""
POLICY_BLOCK = "failure-policy"
"""The slug of the blocks that have a policy."""


def check_shared_options(options: object) -> dict[str, Any]:
    """Return the options of a block, without those of its form that nobody set. Pure.

    Raises:
        InputError: A value is out of its range, a model's name has a key, or it names a block of
            options itself.
    """
    flat = merge_options({}, options)
    if flat.get("options_block"):
        raise InputError(
            "A block of options names another one as its options_block.",
            "Write all options into one block.",
        )
    checked_options(flat).refuse_secrets()
    return flat


def given_options(options: SwarmOptions) -> dict[str, Any]:
    """Return those of a run's options that it was given, as JSON has them. Pure.

    Of options that were stored as a whole these are those that differ from their defaults.
    """
    is_whole = SwarmOptions.model_fields.keys() <= options.model_fields_set
    return options.model_dump(mode="json", exclude_unset=not is_whole, exclude_defaults=is_whole)


def merge_with_block(deployed: object, given: object) -> dict[str, Any]:
    """Return the options of a run: its block's, but for its deployment's, but for its own.

    The block is the one that the run names, or else its deployment. They are merged as
    `merge_options` says, and `options_block` is not among them any more.

    Args:
        deployed: The deployment's options, as JSON has them.
        given: The run's.

    Raises:
        InputError: There is no such block, its options can't be taken, or one is no object.
        ServerError: The server can't be asked for the block.
    """
    merged = merge_options(deployed, given)
    if (name := merged.get("options_block")) is not None:
        shared = _options_of(name)
        merged = merge_options(merge_options(shared, deployed), given)
    merged.pop("options_block", None)
    return merged


def _options_of(name: object) -> dict[str, Any]:
    try:
        return check_shared_options(read_block(OPTIONS_BLOCK, str(name)).get("options"))
    except InputError as error:
        raise InputError(
            f"The options_block can't be taken. {error.problem}", error.advice
        ) from None


def expanded(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a command or a program gives, with the options of the block that it names.

    Raises:
        InputError: There is no such block, or its options can't be taken.
        ServerError: The server can't be asked for it.
    """
    return merge_with_block({}, changes) if changes.get("options_block") else dict(changes)


def with_policy(options: SwarmOptions) -> SwarmOptions:
    """Return options with the policy of the block that they name, which they then name no more.

    Raises:
        InputError: There is no such block, or its policy can't be taken.
        ServerError: The server can't be asked for it.
    """
    if options.policy_block is None:
        return options
    fields = read_block(POLICY_BLOCK, options.policy_block)
    try:
        policy = Policy.model_validate(fields.get("policy", {}))
    except ValidationError as error:
        problems = "; ".join(describe(error))
        raise InputError(
            f"The policy of block:{POLICY_BLOCK}/{options.policy_block} breaks a rule: {problems}.",
            "Correct the block.",
        ) from None
    return options.model_copy(update={"policy": policy, "policy_block": None})
