"""Flows that take JSON Schemas among their parameters."""

from __future__ import annotations

import inspect
import os
import threading
from asyncio import iscoroutine
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar, cast

from prefect import Flow
from prefect.context import FlowRunContext
from prefect.exceptions import Pause, PausedRun, PrefectHTTPStatusError
from prefect.logging import get_logger
from prefect.utilities.callables import parameter_schema
from pydantic import BaseModel, BeforeValidator, WithJsonSchema

from ...errors import InputError
from ...host.network import check_ca_files, check_proxies, keep_loopback_direct
from ...store.attempt import excerpt
from ...tracing.spans import awaited_without_prefect_spans
from ..deployed_options import form_of_options, merge_options
from ..options import SwarmOptions
from ..run_inputs import within_limit
from .server_access import find_fault, refusal_of, say_backoffs
from .temporary_server import configured_url, start_server, stop_server

__all__ = [
    "WITH_SCHEMAS",
    "OptionsParameter",
    "SchemaFlow",
    "ensure_server",
    "refused_in_short",
    "schema_flow",
]


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


def _options(value: object) -> object:
    """Take options as a form has them: some in groups, and null for what isn't set."""
    if not isinstance(value, dict):
        return value
    return merge_options({}, cast("dict[str, Any]", value))


OptionsParameter = Annotated[
    SwarmOptions, BeforeValidator(_options), WITH_SCHEMAS, WithJsonSchema(form_of_options())
]
"""Options of a run as themselves, or as JSON has them, those of the form's groups included."""


class SchemaFlow(Flow[P, R]):
    """A flow whose parameters keep what JSON Schema calls `$ref`.

    Prefect takes a `$ref` anywhere in a parameter for the id of a block, and fails without one.
    Its form shows no default of a parameter that is a model: a form would send all of it, and
    nobody could tell any more what a run was given.
    """

    def __init__(self, fn: Callable[P, R], **settings: Any) -> None:
        """Take a function."""
        super().__init__(fn, **settings)
        signature = inspect.signature(fn, eval_str=True)
        shown = [
            each.replace(default={}) if isinstance(each.default, BaseModel) else each
            for each in signature.parameters.values()
        ]
        self.__signature__ = signature.replace(parameters=shown)
        self.parameters = parameter_schema(self)

    if not TYPE_CHECKING:  # The call's types are the base class's.

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Run the flow, on a temporary server if none is configured."""
            for argument in (*args, *kwargs.values()):
                if isinstance(argument, SwarmOptions):
                    # Before Prefect stores it.
                    argument.refuse_secrets()
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


_lock = threading.Lock()


_usable: set[str] = set()
"""Addresses of configured servers that were found to take what the settings have for them."""


def ensure_server() -> None:
    """Start a temporary server if Prefect would have to start its own; it ends with the process.

    A flow run that is under way has its server already.

    Raises:
        InputError: A proxy is configured that can't be used.
        ServerError: It doesn't start, Prefect's settings name no server and forbid this, or the
            server that they name refuses; says which setting is wrong.
    """
    # A program may have set its proxies after it had imported this package.
    keep_loopback_direct()
    if FlowRunContext.get() is not None:
        return
    check_proxies()
    check_ca_files(os.environ)
    say_backoffs()
    with _lock:
        if (url := configured_url()) is not None:
            _check_settings(url)
            return
        get_logger("swarm").info(
            "Starting a temporary Prefect server (5 to 10 s; set PREFECT_API_URL to use your own)."
        )
        server = start_server()
        try:
            server.wait()
        except BaseException:
            stop_server(server)
            raise


def _check_settings(url: str) -> None:
    """Raise where a setting is wrong; a server that doesn't answer now is Prefect's to wait for."""
    if url in _usable:
        return
    fault = find_fault(url)
    if fault is not None and fault.is_setting:
        raise fault.error(url)
    if fault is None:
        _usable.add(url)
