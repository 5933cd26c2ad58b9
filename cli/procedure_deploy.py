"""`prefect-swarm procedure deploy`: a deployment whose form has a procedure's parameters."""

from __future__ import annotations

import asyncio
import json
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .procedure_values import RunOptions, check_given, read_given, read_run_options
from .terminal.printing import print_text

if TYPE_CHECKING:
    from ..store.procedures import StoredProcedure

__all__ = ["deploy"]


def deploy(
    reference: Annotated[
        str,
        typer.Argument(metavar="NAME[@N]", help="A procedure; its current version, or another."),
    ],
    pool: Annotated[
        str, typer.Option("--pool", metavar="POOL", help="The work pool whose workers run it.")
    ],
    name: Annotated[
        str,
        typer.Option("--name", metavar="NAME", help="Of the deployment; else the procedure's."),
    ] = "",
    cron: Annotated[
        str, typer.Option("--cron", metavar="CRON", help="When it runs by itself: '0 6 * * 1'.")
    ] = "",
    timezone: Annotated[
        str, typer.Option("--timezone", metavar="ZONE", help="Of --cron; UTC if left out.")
    ] = "",
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="NAME=VALUE",
            help="What a parameter is where a run doesn't say it; repeatable.",
        ),
    ] = None,
    objective: Annotated[
        str, typer.Option("--objective", help="Of its runs; left out, the procedure's purpose.")
    ] = "",
    run_options: RunOptions = "",
) -> int:
    """Make a Prefect deployment of a procedure; its form has a field for each parameter.

    One of the same name is renewed. Its runs do this version until the command is given again.
    """
    from ..flows.procedure_deployment import deploy_procedure, parameters_of
    from ..store.procedures import find_procedure

    stored = find_procedure(reference)
    given = check_given(stored.procedure, read_given(param or ()))
    parameters = parameters_of(stored, given, objective, read_run_options(run_options))
    deployed = asyncio.run(
        deploy_procedure(stored, pool, parameters, name=name, cron=cron, timezone=timezone)
    )
    print_text(f"{deployed} is deployed on the work pool {pool}; its runs do {stored.reference}.")
    print_text(f"Run it: prefect deployment run {deployed}{_plan_argument(stored, parameters)}")
    return 0


def _plan_argument(stored: StoredProcedure, parameters: dict[str, Any]) -> str:
    """Return what a run has to be given beside what the deployment has; "" for nothing."""
    from ..plan.procedure import missing_values

    plan = parameters["plan"]
    values = plan.get("parameters", {})
    if not (missing := missing_values(stored.procedure, values)):
        return ""
    shown = {**plan, "parameters": {**values, **dict.fromkeys(missing, "…")}}
    return f" --param plan={shlex.quote(json.dumps(shown, ensure_ascii=False))}"
