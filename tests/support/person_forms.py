"""A person at the Prefect UI: the requests that it makes for them when a flow run waits."""

from __future__ import annotations

import asyncio
import html
import json
from typing import Any
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.client.schemas.responses import SetStateStatus
from prefect_swarm.store.folder import RunFolder


async def shown_state(flow_run_id: UUID, *, but: str = "") -> State[Any]:
    """Return the paused state of a flow run, once its form is shown, too.

    Args:
        flow_run_id: The flow run.
        but: A form's key of before.
    """
    async with get_client() as client:
        while True:
            state = (await client.read_flow_run(flow_run_id)).state
            if (
                state is not None
                and state.is_paused()
                and state.state_details.pause_key != but
                and await _has_form(client, flow_run_id, state)
            ):
                return state
            await asyncio.sleep(0.05)


async def _has_form(client: PrefectClient, flow_run_id: UUID, state: State[Any]) -> bool:
    """Whether the last part of the form is there; a form comes after the state that names it."""
    keyset = state.state_details.run_input_keyset
    kept = await client.filter_flow_run_input(
        flow_run_id, key_prefix="", limit=200, exclude_keys=set()
    )
    return keyset is None or keyset["description"] in {part.key for part in kept}


async def form_part(state: State[Any], flow_run_id: UUID, part: str) -> Any:
    """Return a part of the form that a paused flow run shows."""
    keyset = state.state_details.run_input_keyset
    assert keyset is not None
    async with get_client() as client:
        text = await client.read_flow_run_input(flow_run_id=flow_run_id, key=keyset[part])
    return json.loads(text)


def plan_to_copy(description: str) -> str:
    """Return the plan that a form's description has, folded, as text."""
    folded = description.rpartition("<pre>")[2]
    return html.unescape(folded.partition("</pre>")[0])


async def submit(flow_run_id: UUID, **values: Any) -> None:
    """Press the button of the form with some values in it; the server has to take them.

    Both UIs of Prefect send each field that has a default, as it was if nobody touched it.
    """
    async with get_client() as client:
        state = (await client.read_flow_run(flow_run_id)).state
    assert state is not None
    fields = (await form_part(state, flow_run_id, "schema"))["properties"]
    untouched = {name: field["default"] for name, field in fields.items() if "default" in field}
    await ask_api(flow_run_id, **{**untouched, **values})


async def ask_api(flow_run_id: UUID, **values: Any) -> None:
    """Answer as a program does: with these values alone."""
    async with get_client() as client:
        result = await _pressed(client, flow_run_id, values)
    assert result.status == SetStateStatus.ACCEPT, result.details


async def refusal(flow_run_id: UUID, **values: Any) -> str:
    """Press the button, and return why the server refuses."""
    async with get_client() as client:
        result = await _pressed(client, flow_run_id, values)
    assert result.status != SetStateStatus.ACCEPT
    return str(getattr(result.details, "reason", ""))


async def _pressed(client: PrefectClient, flow_run_id: UUID, values: dict[str, Any]) -> Any:
    return await client.resume_flow_run(flow_run_id, run_input=values)


def folder_of(flow_run_id: UUID) -> RunFolder:
    return RunFolder.of(str(flow_run_id))
