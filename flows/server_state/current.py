"""The flow run that code runs in, as Prefect knows it here."""

from __future__ import annotations

from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext
from prefect.exceptions import MissingContextError

__all__ = ["current_flow_run", "this_flow_run"]


def current_flow_run() -> FlowRun | None:
    """Return the flow run that this code runs in; None if it runs in none."""
    context = FlowRunContext.get()
    return context.flow_run if context is not None else None


def this_flow_run() -> FlowRun:
    """Return the flow run that this code runs in.

    Raises:
        MissingContextError: It runs in none.
    """
    if (flow_run := current_flow_run()) is None:
        raise MissingContextError("It belongs to a flow run.")
    return flow_run
