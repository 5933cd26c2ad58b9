"""Flows that take JSON Schemas among their parameters."""

from __future__ import annotations

from asyncio import iscoroutine
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from prefect import Flow
from prefect.exceptions import Pause, PausedRun, PrefectHTTPStatusError
from pydantic import BaseModel, BeforeValidator

from ..errors import InputError
from ..result import excerpt
from ..tracing.prefect_spans import awaited_without_prefect_spans
from .options import SwarmOptions
from .run_inputs import within_limit
from .temporary_server.ensured import ensure_server
from .temporary_server.reaching import refusal_of

__all__ = ["WITH_SCHEMAS", "SchemaFlow", "refused_in_short", "schema_flow"]

_REFUSED = (413, 422)
_SHORT = 300

P = ParamSpec("P")
R = TypeVar("R")


class _Closed:
    """Holds a parameter that Prefect isn't to look into."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


def _opened(value: object) -> object:
    return value.value if isinstance(value, _Closed) else value


WITH_SCHEMAS = BeforeValidator(_opened)
"""What each parameter is annotated with that is an object; other validators come before it."""


class SchemaFlow(Flow[P, R]):
    """A flow whose parameters keep what JSON Schema calls `$ref`.

    Prefect takes a `$ref` anywhere in a parameter for the id of a block, and fails without one.
    """

    if not TYPE_CHECKING:  # The call's types are the base class's.

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Run the flow, on a temporary server if none is configured."""
            for given in (*args, *kwargs.values()):
                if isinstance(given, SwarmOptions):
                    # Before Prefect stores it.
                    given.refuse_secrets()
            ensure_server()
            called = super().__call__(*args, **kwargs)
            if not iscoroutine(called):
                return called
            as_state = bool(kwargs.get("return_state"))
            ended = _unless_paused(awaited_without_prefect_spans(called), as_state)
            return refused_in_short(ended)

    def serialize_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return them as the server has them, which takes 512 KiB; the flow gets them whole."""
        return within_limit(super().serialize_parameters(parameters))

    def validate_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Have each parameter validated by its type alone."""
        closed: dict[str, object] = {
            name: _Closed(cast("object", value)) if isinstance(value, BaseModel | dict) else value
            for name, value in parameters.items()
        }
        return super().validate_parameters(closed)


async def refused_in_short(called: Awaitable[R]) -> R:
    """Await a flow; where the server refuses it the error says what to do, and no parameters.

    Raises:
        InputError: The server refuses the parameters.
        ServerError: It wants a login, or other rights.
    """
    try:
        return await called
    except PrefectHTTPStatusError as error:
        if (refusal := refusal_of(error)) is not None:
            raise refusal from error
        if error.response.status_code not in _REFUSED or "flow_runs" not in str(error.request.url):
            raise
        size = len(error.request.content)
        raise InputError(
            f"The Prefect server refuses the run's parameters, of {size:,} bytes: "
            f"{excerpt(error.response.text, _SHORT)}",
            "It takes 524,288 bytes unless PREFECT_SERVER_API_MAX_PARAMETER_SIZE says otherwise. "
            "Give long texts as inputs.",
        ) from None


async def _unless_paused(called: Coroutine[Any, Any, Any], as_state: bool) -> Any:
    """Await a flow; one that set itself Paused ends as one whose end is that state."""
    try:
        return await called
    except Pause as pause:
        state = pause.state
        if state is None or state.state_details.pause_reschedule:
            raise
        if as_state:
            return state
        raise PausedRun("The run is paused, and has no result yet.", state=state) from None


def schema_flow(**settings: Any) -> Callable[[Callable[P, R]], SchemaFlow[P, R]]:
    """Make a function a flow whose parameters may hold JSON Schemas, as `prefect.flow` would."""

    def decorate(function: Callable[P, R]) -> SchemaFlow[P, R]:
        return SchemaFlow(function, **settings)

    return decorate
