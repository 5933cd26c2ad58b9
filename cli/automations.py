"""`prefect-swarm automations`: ready automations, as a file or made on the server."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ..text import plural
from .terminal.printing import print_text
from .terminal.session import say

__all__ = ["automations"]


def automations(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Which ones; left out, all that have a target."),
    ] = None,
    notify: Annotated[
        str | None,
        typer.Option(
            "--notify",
            metavar="SLUG/NAME",
            help="The block that tells people: slack-webhook/ops, webhook/ops.",
        ),
    ] = None,
    failures: Annotated[
        int,
        typer.Option(
            "--failures", min=1, help="How often a gate fails in an hour before people are told."
        ),
    ] = 10,
    create: Annotated[
        bool, typer.Option("--create", help="Make them on the server, or renew them there.")
    ] = False,
) -> int:
    """Write ready automations, for `prefect automation create --from-file`.

    They put crashed runs back, tell people of what waits or fails, and retry what is partial once.
    """
    from ..flows.automations import (
        automation_file,
        automations_for,
        find_targets,
        make_automations,
    )

    block, retry = asyncio.run(find_targets(notify))
    wanted = automations_for(names or (), block, retry, failures)
    if not create:
        print_text(automation_file(wanted).rstrip())
        return 0
    for made in asyncio.run(make_automations(wanted)):
        print_text(f"{made.name} is {made.was}.")
    say(f"{plural(len(wanted), 'automation')} on the server.")
    return 0
