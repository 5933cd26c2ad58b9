"""`prefect-swarm runs`: the list of runs from their folders, without a Prefect server."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..store.runs import STATUSES, ListedRun, RunStatus, list_runs, move_run, place_of_runs
from ..text import dollars, duration, one_line, plural
from .command import AsJson
from .terminal.printing import print_json, print_table, print_text

__all__ = ["runs"]

_HEADER = ("Run", "Started", "Status", "Done", "Time", "Tokens", "Cost", "Objective")
_RIGHT = frozenset({"Done", "Time", "Tokens", "Cost"})


def runs(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Only those whose objective has all of these."),
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(metavar="STATUS", help=f"Only these: {', '.join(STATUSES)}. Repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Runs at most.")] = 20,
    move: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Instead of a list: bring a run from the folder to the PostgreSQL store.",
        ),
    ] = None,
    to: Annotated[
        str, typer.Option(metavar="PLACE", help="Where --move brings it: `store` or `folder`.")
    ] = "store",
    as_json: AsJson = False,
) -> int:
    """List the stored runs, newest first, with start, status, cost and time."""
    if move is not None:
        return _move(move, to, as_json=as_json)
    wanted = frozenset[RunStatus](_status(text) for text in status or ())
    found = list(islice(list_runs(tuple(words or ()), wanted), limit + 1))
    shown, more = found[:limit], len(found) > limit
    if as_json:
        print_json({"runs": [_record(run) for run in shown], "more": more})
    elif shown:
        print_table(_HEADER, map(_row, shown), right=_RIGHT)
        _print_hints(shown, more=more)
    else:
        print_text(
            "No run matches." if words or wanted else f"No run is stored in {place_of_runs()}."
        )
    return 0


def _move(name: str, to: str, *, as_json: bool) -> int:
    if to not in ("store", "folder"):
        raise InputError(f"--to got {to!r}.", "Give store or folder.")
    run = move_run(name, to)
    if as_json:
        print_json({"run_id": run.run_id, "place": run.place()})
    else:
        print_text(f"Run {run.run_id} is in {run.place()} now.")
    return 0


def _status(text: str) -> RunStatus:
    for known in STATUSES:
        if known == text:
            return known
    raise InputError(f"--status got {text!r}.", f"Give one of {', '.join(STATUSES)}.")


def _record(run: ListedRun) -> dict[str, Any]:
    when = datetime.fromtimestamp(run.started_at).astimezone()
    return {**asdict(run), "started_at": when.isoformat(timespec="seconds")}


def _row(run: ListedRun) -> tuple[str, ...]:
    took = run.running_s if run.makespan_s is None else run.makespan_s
    return (
        one_line(run.run_id, 40),
        f"{datetime.fromtimestamp(run.started_at):%Y-%m-%d %H:%M}",
        run.status,
        _done(run),
        "" if took is None else duration(took),
        "" if run.tokens is None else f"{run.tokens:,}",
        "" if run.usd is None else dollars(run.usd),
        one_line(run.damage or run.objective, 300),
    )


def _done(run: ListedRun) -> str:
    """Write how many steps are done, and how many instances of them, of as many as are known."""
    if run.steps is None:
        return ""
    steps = f"{run.done or 0:,}/{run.steps:,}"
    if not (run.instances or run.instances_done):
        return steps
    done = run.instances_done or 0
    if run.instances is None:
        return f"{steps} · {plural(done, 'instance')}"
    return f"{steps} · {done:,}/{plural(run.instances, 'instance')}"


def _print_hints(shown: list[ListedRun], *, more: bool) -> None:
    print_text("")
    if more:
        print_text(f"{plural(len(shown), 'run')}, and there are older ones: see --limit.")
    if stopped := next((run.run_id for run in shown if run.status == "stopped"), None):
        print_text(f"To go on with one that stopped: prefect-swarm resume {stopped}")
    if running := next((run.run_id for run in shown if run.status == "running"), None):
        print_text(f"To watch one that runs: prefect-swarm watch {running}")
    if asking := next((run.run_id for run in shown if run.status == "waiting"), None):
        print_text(f"To see what one waits for: prefect-swarm waiting {asking}")
    if whole := next((run.run_id for run in shown if run.status != "damaged"), None):
        print_text(f"Look closer: prefect-swarm inspect {whole}")
