"""The deployment of a flow run: the options that it gives each of its runs."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import ObjectNotFound

from ...errors import ServerError
from ..options import SwarmOptions, checked_options
from ..shared_options import given_options, merge_with_block, with_policy
from .form_service import SERVER_ERRORS

__all__ = ["settle_options"]

_logger = logging.getLogger("prefect_swarm.runs")
_TEMPLATE = "__prefect_kind"
"""What stands in parameters that Prefect fills in, such as those from a template."""


async def settle_options(flow_run: FlowRun, options: SwarmOptions) -> SwarmOptions:
    """Return a flow run's options: its blocks' and its deployment's, but for what it was given.

    The flow run's own parameters have them all from then on, and name no block any more: a
    deployment or a block that changes meanwhile changes nothing, in whatever process the run goes
    on.

    Args:
        flow_run: The flow run that this code runs in.
        options: What it was given.

    Raises:
        InputError: There is no such block, or they come to options that can't be taken.
        ServerError: The server can't be asked for the deployment's, or for a block.
    """
    given = flow_run.parameters.get("options")
    deployed: object = None
    if flow_run.deployment_id is None or _is_whole(given):
        if options.options_block is None and options.policy_block is None:
            return options
        given = given_options(options)
    else:
        deployed = await _deployed_options(flow_run.deployment_id)
    settled = await asyncio.to_thread(_settled, deployed, given)
    stored = {"options": settled.model_dump(mode="json")}
    try:
        async with get_client() as client:
            parameters = {**flow_run.parameters, **stored}
            await client.update_flow_run(flow_run.id, parameters=parameters)
    except SERVER_ERRORS as error:
        raise _unsettled(error) from error
    flow_run.parameters.update(stored)
    return settled


async def _deployed_options(deployment_id: UUID) -> object:
    try:
        async with get_client() as client:
            deployment = await client.read_deployment(deployment_id)
    except ObjectNotFound:
        _logger.warning("The deployment of this run is gone: its options are the run's own alone.")
        return None
    except SERVER_ERRORS as error:
        raise _unsettled(error) from error
    deployed = {"options": deployment.parameters.get("options")}
    if _TEMPLATE not in json.dumps(deployed):
        return deployed["options"]
    # Its import brings the database library of Prefect's server.
    from prefect.utilities.schema_tools.hydration import HydrationContext, hydrate

    return hydrate(deployed, HydrationContext()).get("options")


def _unsettled(error: Exception) -> ServerError:
    return ServerError(
        f"The options of the run can't be settled with the Prefect server: {error!r}.",
        "Start the run again once the Prefect server answers.",
    )


def _settled(deployed: object, given: object) -> SwarmOptions:
    return with_policy(checked_options(merge_with_block(deployed, given)))


def _is_whole(options: object) -> bool:
    """Whether each option is there: nothing is left for a deployment to say."""
    if not isinstance(options, Mapping):
        return False
    return SwarmOptions.model_fields.keys() <= cast("Mapping[str, Any]", options).keys()
