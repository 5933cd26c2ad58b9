"""`prefect-swarm runs`: the list of runs from their folders, without a Prefect server."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated, Any, Literal

import typer

from ..errors import InputError
from ..store.runs import (
    STATUSES,
    ListedRun,
    RunStatus,
    Usual,
    find_usual,
    list_runs,
    move_run,
    place_of_runs,
)
from ..text import dollars, duration, one_line, plural
from .command import AsJson
from .terminal.printing import print_json, print_table, print_text

__all__ = ["parse_since", "runs"]

_HEADER = ("Run", "Started", "Status", "Done", "Time", "Tokens", "Cost", "Usual", "Objective")
_RIGHT = frozenset({"Done", "Time", "Tokens", "Cost", "Usual"})

Order = Literal["started", "cost", "time"]
_ORDERS: Mapping[Order, Callable[[ListedRun], float | None]] = {
    "started": lambda run: run.started_at,
    "cost": lambda run: run.usd if run.usd is not None else _per_token(run.tokens),
    "time": lambda run: run.running_s if run.makespan_s is None else run.makespan_s,
}


def runs(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Only those whose objective has all of these."),
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(metavar="STATUS", help=f"Only these: {', '.join(STATUSES)}. Repeatable."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", help="Only those that began since then: 7d, 12h, 30m, 2w, or a date."
        ),
    ] = None,
    sort: Annotated[
        Order, typer.Option(help="The newest first, or those that cost or took most.")
    ] = "started",
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
    """List the stored runs with start, status, cost and time, and what is usual for runs like them.

    Runs of the same deployment are alike, and others that have the same objective but for its
    figures. The last line has the totals of all runs that match.
    """
    if move is not None:
        return _move(move, to, as_json=as_json)
    wanted = frozenset[RunStatus](_status(text) for text in status or ())
    begin = 0.0 if since is None else parse_since(since, datetime.now().astimezone())
    listed = list_runs(tuple(words or ()), wanted, since=begin)
    # Without a bound in time there may be thousands.
    is_all = since is not None or sort != "started"
    found = list(listed if is_all else islice(listed, limit + 1))
    if sort != "started":
        found.sort(key=lambda run: -(_ORDERS[sort](run) or 0.0))
    shown, more = found[:limit], len(found) > limit
    counted = found if is_all else shown
    if as_json:
        usual = find_usual(shown)
        print_json(
            {
                "runs": [_record(run, usual.get(run.run_id)) for run in shown],
                "more": more,
                "totals": _totals(counted),
            }
        )
    elif shown:
        usual = find_usual(shown)
        rows = [_row(run, usual.get(run.run_id)) for run in shown]
        _print_rows(rows)
        print_text("")
        print_text(_totals_line(counted, is_all=is_all or not more))
        _print_hints(shown, more=more, sort=sort)
    else:
        has_bounds = words or wanted or since is not None
        print_text("No run matches." if has_bounds else f"No run is stored in {place_of_runs()}.")
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


def _print_rows(rows: Sequence[tuple[str, ...]]) -> None:
    """Print the table, without the column that no run has anything in."""
    place = _HEADER.index("Usual")
    if any(row[place] for row in rows):
        print_table(_HEADER, rows, right=_RIGHT)
        return
    header = (*_HEADER[:place], *_HEADER[place + 1 :])
    print_table(header, [(*row[:place], *row[place + 1 :]) for row in rows], right=_RIGHT)


def _per_token(tokens: int | None) -> float | None:
    """Sort what has no price behind all that has one, the most tokens first."""
    return None if tokens is None else tokens * 1e-15


_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(?P<count>[0-9]{1,6})(?P<unit>[mhdw])")


def parse_since(text: str, now: datetime) -> float:
    """Return when a span before now began, or a date's day, in seconds since 1970.

    Raises:
        InputError: It is neither.
    """
    text = text.strip()
    try:
        if found := _AGO.fullmatch(text.lower()):
            return (now - timedelta(**{_UNITS[found["unit"]]: int(found["count"])})).timestamp()
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.astimezone()).timestamp()
    except (ValueError, OverflowError):
        raise InputError(
            f"--since got {one_line(text, 40)!r}.",
            "Give a span (30m, 12h, 7d, 2w) or a date (2026-11-20, 2026-11-20T08:00).",
        ) from None


def _totals(found: Sequence[ListedRun]) -> dict[str, Any]:
    priced = [run.usd for run in found if run.usd is not None]
    return {
        "runs": len(found),
        "statuses": dict(Counter(run.status for run in found)),
        "missing": sum(run.missing or 0 for run in found),
        "seconds": sum(run.makespan_s or 0.0 for run in found),
        "tokens": sum(run.tokens or 0 for run in found),
        "usd": sum(priced) if priced else None,
        "without_price": sum(run.usd is None and bool(run.tokens) for run in found),
    }


def _totals_line(found: Sequence[ListedRun], *, is_all: bool) -> str:
    totals = _totals(found)
    statuses = ", ".join(f"{count:,} {name}" for name, count in totals["statuses"].items())
    if missing := totals["missing"]:
        statuses += f", {missing:,} missing"
    usd, unpriced = totals["usd"], totals["without_price"]
    money = (
        [] if usd is None else [dollars(usd) + (f" ({unpriced} without a price)" * (unpriced > 0))]
    )
    figures = [duration(totals["seconds"]), f"{totals['tokens']:,} tokens", *money]
    which = "In all" if is_all else "Of those shown"
    return f"{which}: {plural(len(found), 'run')} ({statuses}) · {' · '.join(figures)}"


def _status(text: str) -> RunStatus:
    for known in STATUSES:
        if known == text:
            return known
    raise InputError(f"--status got {text!r}.", f"Give one of {', '.join(STATUSES)}.")


def _record(run: ListedRun, usual: Usual | None) -> dict[str, Any]:
    when = datetime.fromtimestamp(run.started_at).astimezone()
    return {
        **asdict(run),
        "started_at": when.isoformat(timespec="seconds"),
        "usual": usual and asdict(usual),
    }


def _row(run: ListedRun, usual: Usual | None) -> tuple[str, ...]:
    took = run.running_s if run.makespan_s is None else run.makespan_s
    return (
        one_line(run.run_id, 40),
        f"{datetime.fromtimestamp(run.started_at):%Y-%m-%d %H:%M}",
        f"{run.status}, {run.missing:,} missing" if run.missing else run.status,
        _done(run),
        "" if took is None else duration(took),
        "" if run.tokens is None else f"{run.tokens:,}",
        "" if run.usd is None else dollars(run.usd),
        "" if usual is None else _usual_words(usual),
        one_line(run.damage or run.objective, 300),
    )


def _usual_words(usual: Usual) -> str:
    took = "" if usual.seconds is None else duration(usual.seconds)
    tokens = "" if usual.tokens is None else f"{usual.tokens:,.0f} tokens"
    cost = tokens if usual.usd is None else dollars(usual.usd)
    return ", ".join(filter(None, [took, cost]))


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


def _print_hints(shown: list[ListedRun], *, more: bool, sort: Order) -> None:
    if more:
        rest = "older ones" if sort == "started" else "others"
        print_text(f"{plural(len(shown), 'run')} shown, and there are {rest}: see --limit.")
    if stopped := next((run.run_id for run in shown if run.status == "stopped"), None):
        print_text(f"To go on with one that stopped: prefect-swarm resume {stopped}")
    if running := next((run.run_id for run in shown if run.status == "running"), None):
        print_text(f"To watch one that runs: prefect-swarm watch {running}")
    if asking := next((run.run_id for run in shown if run.status == "waiting"), None):
        print_text(f"To see what one waits for: prefect-swarm waiting {asking}")
    if whole := next((run.run_id for run in shown if run.status != "damaged"), None):
        print_text(f"Look closer: prefect-swarm inspect {whole}")
