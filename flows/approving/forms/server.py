"""Forms on the Prefect server: shown with a paused state, and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.objects import State
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import PrefectHTTPStatusError
from prefect.states import Paused, Running, Scheduled, Suspended

from .fields import PersonForm

__all__ = [
    "SERVER_ERRORS",
    "form_state",
    "is_shown",
    "put_form",
    "report",
    "response_of",
    "run_again",
    "wake",
]

SERVER_ERRORS = (httpx.HTTPError, RuntimeError)
"""What Prefect's client raises where the server is away; a RuntimeError if it can't connect."""
_NOT_FOUND, _CONFLICT = 404, 409


async def put_form(
    client: PrefectClient,
    flow_run_id: UUID,
    form: PersonForm,
    schema: Mapping[str, Any],
    description: str,
) -> None:
    """Have the server keep a form, once a state names it: the UI shows it from then on.

    What it has of a form when a state names it, the server deletes: it may be an earlier attempt's.
    """
    for part, value in (("schema", schema), ("description", description)):
        try:
            await client.create_flow_run_input(
                flow_run_id=flow_run_id, key=form.keyset[part], value=json.dumps(value)
            )
        except PrefectHTTPStatusError as error:
            if error.response.status_code != _CONFLICT:  # It has it already.
                raise


def form_state(form: PersonForm, message: str) -> State[Any]:
    """Return the state of a flow run that shows a form; it has no end by itself."""
    # Prefect fails a flow run that is paused with a time-out.
    make = Suspended if form.suspended else Paused
    return make(
        message=message, pause_key=form.key, state_details={"run_input_keyset": form.keyset}
    )


def is_shown(state: State[Any] | None, form: PersonForm) -> bool:
    """Say whether a flow run in that state still shows the form."""
    return state is not None and state.is_paused() and state.state_details.pause_key == form.key


async def report(client: PrefectClient, flow_run_id: UUID, state: State[Any]) -> State[Any] | None:
    """Set a flow run's state, and return it as the server has it; None if it refuses."""
    result = await client.set_flow_run_state(flow_run_id, state)
    return result.state if result.status == SetStateStatus.ACCEPT else None


async def run_again(client: PrefectClient, flow_run_id: UUID, form: PersonForm) -> None:
    """Have a flow run that shows a form be Running; after that the form takes no answer."""
    state = (await client.read_flow_run(flow_run_id)).state
    if is_shown(state, form):
        await report(client, flow_run_id, Running())


async def wake(client: PrefectClient, flow_run_id: UUID) -> bool:
    """Have a suspended flow run be scheduled, without an answer; say whether it is scheduled."""
    state = (await client.read_flow_run(flow_run_id)).state
    if state is not None and state.is_scheduled():
        return True
    if state is None or not (state.is_paused() and state.state_details.pause_reschedule):
        return False
    # Not as the UI resumes it: that is refused where the form never reached the server.
    resuming: State[Any] = Scheduled(name="Resuming")
    return await report(client, flow_run_id, resuming) is not None


async def response_of(client: PrefectClient, flow_run_id: UUID, form: PersonForm) -> object:
    """Return what was answered in a form, as JSON has it; None if nothing was."""
    try:
        text = await client.read_flow_run_input(
            flow_run_id=flow_run_id, key=form.keyset["response"]
        )
    except PrefectHTTPStatusError as error:
        if error.response.status_code == _NOT_FOUND:
            return None
        raise
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text  # It is refused as what is no answer.
