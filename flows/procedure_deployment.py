"""Deployments whose runs do a version of a procedure: its parameters are fields of the form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from pydantic import ValidationError

from ..errors import InputError, ServerError
from ..plan.procedure import Parameter, ParameterType, ParameterValue, missing_values, values_of
from ..plan.templates import LONGEST_VALUE
from ..store.procedures import StoredProcedure
from .options import checked_options
from .prefect_io.form_service import SERVER_ERRORS
from .prefect_io.schema_flow import ensure_server
from .prefect_io.server_access import refusal_of, shown_address
from .prefect_io.temporary_server import configured_url
from .swarm import swarm

__all__ = ["deploy_procedure", "form_of_procedure", "parameters_of"]

_ENTRYPOINT = "prefect_swarm.flows.swarm:swarm"
_TYPES: Mapping[ParameterType, Mapping[str, Any]] = {
    # The older UI has a box of several lines for each text.
    "text": {"type": "string", "maxLength": LONGEST_VALUE, "pattern": r"^(?!.*[\r\n])"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
}
_UNPROCESSABLE = (409, 422)


def form_of_procedure(stored: StoredProcedure, form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a deployment's parameters, which Prefect holds its runs to. Pure.

    In the place of any plan it has the procedure, which is fixed, and a field for each parameter.
    A fork has a plan of its own, so there is no field for one.

    Args:
        stored: What the runs do.
        form: The schema of the flow.
    """
    known = stored.procedure.parameters
    fields: dict[str, Any] = {
        "procedure": {
            "title": "procedure",
            "description": "What is done; it can't be changed here.",
            "type": "string",
            "const": stored.reference,
            "default": stored.reference,
            "position": 0,
        }
    }
    required = ["procedure"]
    if known:
        needed = missing_values(stored.procedure, {})
        places = enumerate(known.items())
        fields["parameters"] = {
            "title": "parameters",
            "type": "object",
            "properties": {name: _field(name, each, place) for place, (name, each) in places},
            "required": [*needed],
            "additionalProperties": False,
            "position": 1,
        }
        required += ["parameters"] if needed else []
    plan = {
        "title": "plan",
        "description": stored.procedure.purpose,
        "type": "object",
        "properties": fields,
        "required": required,
        "additionalProperties": False,
    }
    properties = {name: each for name, each in form["properties"].items() if name != "fork"}
    plan["position"] = properties["plan"]["position"]
    return {**form, "properties": {**properties, "plan": plan}, "required": ["objective", "plan"]}


def _field(name: str, parameter: Parameter, position: int) -> dict[str, Any]:
    default = {} if parameter.default is None else {"default": parameter.default}
    about = {"title": name, "description": parameter.description, "position": position}
    return {**about, **_TYPES[parameter.type], **default}


def parameters_of(
    stored: StoredProcedure,
    given: Mapping[str, ParameterValue],
    objective: str = "",
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what a deployment gives each of its runs: the procedure, and the values known. Pure.

    Args:
        stored: What the runs do.
        given: Values of its parameters; the others have their defaults.
        objective: What the runs are called; the procedure's purpose if it is left out.
        options: Options of the runs by their names.

    Raises:
        InputError: A value is no parameter's or doesn't fit, or an option can't be taken.
    """
    checked = checked_options(options or {})
    checked.refuse_secrets()
    dumped = checked.model_dump(mode="json", include={*(options or {})}, exclude_none=True)
    values = values_of(stored.procedure, given)
    plan = {"procedure": stored.reference, **({"parameters": values} if values else {})}
    return {
        "objective": objective or stored.procedure.purpose,
        "plan": plan,
        **({"options": dumped} if dumped else {}),
    }


async def deploy_procedure(
    stored: StoredProcedure,
    pool: str,
    parameters: Mapping[str, Any],
    *,
    name: str = "",
    cron: str = "",
    timezone: str = "",
) -> str:
    """Create a deployment of the flow `swarm` that does a procedure, or renew the one of its name.

    Args:
        stored: What its runs do.
        pool: The work pool that runs them.
        parameters: What `parameters_of` returned.
        name: The deployment's name; the procedure's if it is left out.
        cron: When its runs begin by themselves.
        timezone: The time zone of `cron`; UTC if it is left out.

    Returns:
        Its name after the flow's: `swarm/weekly-report`.

    Raises:
        InputError: There is no such pool, the schedule is none, its runs would lack a value, or
            no server is configured.
        ServerError: The server can't be asked, or refuses.
    """
    name = name or stored.procedure.name
    schedules = [_schedule(stored, parameters, cron, timezone)] if cron else []
    if configured_url() is None:
        raise InputError(
            "A deployment is kept on a Prefect server, and none is configured.",
            "Set PREFECT_API_URL to its address: http://127.0.0.1:4200/api",
        )
    ensure_server()
    try:
        async with get_client() as client:
            await _check_pool(client, pool)
            await client.create_deployment(
                flow_id=await client.create_flow(swarm),
                name=name,
                version=str(stored.version),
                description=stored.procedure.purpose,
                tags=["swarm"],
                entrypoint=_ENTRYPOINT,
                pull_steps=[],
                work_pool_name=pool,
                parameters=dict(parameters),
                parameter_openapi_schema=form_of_procedure(
                    stored, swarm.parameters.model_dump(exclude_unset=True)
                ),
                enforce_parameter_schema=True,
                schedules=schedules,
            )
    except SERVER_ERRORS as error:
        raise _refused(name, error) from error
    return f"{swarm.name}/{name}"


async def _check_pool(client: PrefectClient, pool: str) -> None:
    try:
        await client.read_work_pool(pool)
    except ObjectNotFound:
        raise InputError(
            f"The Prefect server {shown_address(str(client.api_url))} has no work pool {pool!r}.",
            f"Make it: prefect work-pool create {pool} --type process",
        ) from None


def _schedule(
    stored: StoredProcedure, parameters: Mapping[str, Any], cron: str, timezone: str
) -> DeploymentScheduleCreate:
    values = parameters["plan"].get("parameters", {})
    if missing := missing_values(stored.procedure, values):
        raise InputError(
            f"Runs of a schedule would have no value of the parameter {missing[0]} of "
            f"{stored.reference}.",
            f"Give it: --param {missing[0]}=…",
        )
    try:
        return DeploymentScheduleCreate(
            schedule=CronSchedule(cron=cron, timezone=timezone or None), active=True
        )
    except (ValidationError, ValueError) as error:
        raise InputError(
            f"--cron {cron!r} with the time zone {timezone or 'UTC'} is no schedule: {error}.",
            'Write five fields, such as "0 6 * * 1" for 6:00 on Mondays.',
        ) from None


def _refused(name: str, error: httpx.HTTPError | RuntimeError) -> InputError | ServerError:
    if isinstance(error, PrefectHTTPStatusError):
        if (refusal := refusal_of(error)) is not None:
            return refusal
        if error.response.status_code in _UNPROCESSABLE:
            return InputError(
                f"The Prefect server refuses the deployment {name!r}: {error.response.text}.",
                "Give it another name, or correct what is named.",
            )
    return ServerError(
        f"The deployment {name!r} can't be made: {error!r}.",
        "Try again once the Prefect server answers.",
    )
