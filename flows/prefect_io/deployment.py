"""The deployment of a flow run: the options that it gives each of its runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import ObjectNotFound
from prefect.utilities.schema_tools.hydration import HydrationContext, hydrate

from ...errors import ServerError
from ..deployed_options import merge_options
from ..options import SwarmOptions, checked_options
from .form_service import SERVER_ERRORS

__all__ = ["settle_options"]

_logger = logging.getLogger("prefect_swarm.runs")


async def settle_options(flow_run: FlowRun, options: SwarmOptions) -> SwarmOptions:
    """Return the options of a flow run: those of its deployment, but for what it was given.

    The flow run's own parameters have them all from then on: a deployment that changes meanwhile
    changes nothing, in whatever process the run goes on.

    Args:
        flow_run: The flow run that this code runs in.
        options: What it was given.

    Raises:
        InputError: The deployment's and the run's come to options that can't be taken.
        ServerError: The server can't be asked for the deployment's.
    """
    given = flow_run.parameters.get("options")
    if flow_run.deployment_id is None or _is_whole(given):
        return options
    try:
        async with get_client() as client:
            deployment = await client.read_deployment(flow_run.deployment_id)
            deployed = hydrate(deployment.parameters, HydrationContext()).get("options")
            merged = checked_options(merge_options(deployed, given))
            stored = {"options": merged.model_dump(mode="json")}
            parameters = {**flow_run.parameters, **stored}
            await client.update_flow_run(flow_run.id, parameters=parameters)
    except ObjectNotFound:
        _logger.warning("The deployment of this run is gone: its options are the run's own alone.")
        return options
    except SERVER_ERRORS as error:
        raise ServerError(
            f"The options of the run's deployment can't be read: {error!r}.",
            "Start the run again once the Prefect server answers.",
        ) from error
    flow_run.parameters.update(stored)
    return merged


def _is_whole(options: object) -> bool:
    """Whether each option is there: nothing is left for a deployment to say."""
    if not isinstance(options, Mapping):
        return False
    return SwarmOptions.model_fields.keys() <= cast("Mapping[str, Any]", options).keys()
