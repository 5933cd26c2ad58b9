"""`prefect-swarm tell`: write to the orchestrator of a run that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..files import read_text
from ..store.messages import MOST_CHARS
from .command import AsJson
from .run import RunName
from .terminal.printing import print_json, print_text

__all__ = ["tell"]


def tell(
    run_name: RunName,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help=f"What to say, at most {MOST_CHARS:,} characters; - is standard input.",
        ),
    ],
    name: Annotated[str, typer.Option("--name", help="Who writes it; nothing checks it.")] = "",
    as_json: AsJson = False,
) -> int:
    """Write to a run's orchestrator: its next turn shows it as your own wish."""
    from ..flows.messages import tell as keep
    from ..store.runs import find_run

    run = find_run(run_name)
    text = read_text(Path("-"), "message") if text == "-" else text
    message = keep(run.run_id, text, by="command", name=name.strip())
    is_executed = run.is_executed()
    if as_json:
        kept = message.model_dump(mode="json", exclude={"closed"})
        print_json({"run_id": run.run_id, **kept, "running": is_executed})
        return 0
    kept = f"Message {message.number} for the orchestrator of run {run.run_id} is kept."
    if is_executed:
        print_text(f"{kept} Its next turn shows it.")
    else:
        print_text(f"{kept} No process works on it: the next turn after it is resumed shows it.")
        print_text(f"Resume with: prefect-swarm resume {run.run_id}")
    return 0
