"""`prefect-swarm memory personas` and `persona …`: who there is, and deciding about them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ...memory.store import open_configured_store
from ...report.memory_pages import MOST_PERIODS, Period, periods, persona_page, record_of
from ...text import one_line
from ..command import AsJson, command
from ..terminal.printing import console, print_json, print_table, print_text
from .options import AsHtml, Namespace, entries_of

if TYPE_CHECKING:
    from ...memory.personas.registry import KnownPersona
    from ...memory.store import Store

__all__ = ["LEGEND", "persona_app", "personas", "plot_lines"]


LEGEND = "● expected success, ├─┤ its sure bounds, after these attempts"
_MARGIN, _LEAST, _MOST = 34, 20, 60


def plot_lines(found: Sequence[Period], width: int, zone: tzinfo | None = None) -> list[str]:
    """Draw periods, a line each, below an axis from 0 to 100 %; every sign is one column wide.

    Args:
        found: The periods, oldest first.
        width: Columns that there are.
        zone: Whose times are shown; the machine's if None.
    """
    columns = min(_MOST, max(_LEAST, width - _MARGIN))
    axis = "0%".ljust(columns // 2 - 1) + "50%".ljust(columns - columns // 2 - 3) + "100%"
    lines = [f"{'':16}  {axis}"]
    for period in found:
        when = f"{datetime.fromtimestamp(period.until, zone):%Y-%m-%d %H:%M}"
        counts = f"{period.succeeded:,} of {period.attempts:,}"
        lines.append(f"{when}  {_line(period, columns)}  {counts}")
    return lines


def _line(period: Period, columns: int) -> str:
    low, mean, high = (
        min(columns - 1, int(rate * columns))
        for rate in (period.expected.low, period.expected.mean, period.expected.high)
    )
    signs = ["·"] * columns
    signs[low : high + 1] = "─" * (high + 1 - low)
    signs[low], signs[high], signs[mean] = "├", "┤", "●"
    return "".join(signs)


_ACTS = {
    "promote": "Promote an invented persona for all steps, regardless of its evidence.",
    "retire": "Retire a persona: no further step gets it.",
    "restore": "Restore a retired persona to its former status.",
    "undo": "Reverse the last decision about a persona; a second undo brings it back.",
    "release": "Let reviews decide again about a persona that you have decided about.",
}

Name = Annotated[str, typer.Argument(metavar="NAME", help="A persona's name or title.")]


class _PersonaGroup(TyperGroup):
    """`persona NAME` is `persona show NAME`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; what is not a command is a persona's name."""
        named = args and not args[0].startswith("-") and args[0] not in self.commands
        return super().resolve_command(ctx, ["show", *args] if named else args)


persona_app = typer.Typer(
    cls=_PersonaGroup,
    no_args_is_help=True,
    help="One persona: see and decide. `persona NAME` shows it.",
)


def personas(namespace: Namespace = "default", as_json: AsJson = False) -> int:
    """List the personas with origin, status and evidence."""
    with open_configured_store() as store:
        known = store.personas.registry(namespace).known
        attempts = _attempts(store, namespace)
    rows: list[dict[str, Any]] = [
        {**_fields(persona), **_record(attempts, name)} for name, persona in known.items()
    ]
    if as_json:
        print_json({"namespace": namespace, "personas": rows})
        return 0
    print_table(
        ("Persona", "Status", "Origin", "Attempts", "Succeeded", "Why"),
        (
            (
                row["name"],
                row["status"],
                row["origin"],
                f"{row['attempts']:,}",
                f"{row['succeeded'] / row['attempts']:.0%}" if row["attempts"] else "",
                one_line(row["why"], 300),
            )
            for row in rows
        ),
        right=frozenset({"Attempts", "Succeeded"}),
    )
    return 0


def show_persona(
    name: Name,
    namespace: Namespace = "default",
    html: AsHtml = None,
    as_json: AsJson = False,
) -> int:
    """Show a persona: its record over time, and all decisions with their evidence."""
    from .pages import print_page, write_page

    with open_configured_store() as store:
        known = store.personas.registry(namespace).find(name)
        record = record_of(entries_of(store.log, namespace), namespace, known.persona.name)
    found = periods(record.tried, MOST_PERIODS)
    if as_json:
        changes = [change.model_dump(mode="json") for change in known.changes]
        definition = known.persona.model_dump(mode="json")
        counts = {"attempts": len(record.tried), "succeeded": record.succeeded}
        over_time = {"over_time": [asdict(period) for period in found]}
        more = {"definition": definition, "changes": changes}
        print_json({**_fields(known), **counts, **over_time, **more})
        return 0
    page = persona_page(known, record)
    if html is not None:
        return write_page(html, page, found)
    plot = [f"Success over time   {LEGEND}", *plot_lines(found, console().width)]
    print_page(page, plot if found else ())
    return 0


def _act(name: str, about: str) -> Callable[..., int]:
    def act(
        name_: Name,
        reason: Annotated[str, typer.Option(help="The reason, stored with the decision.")] = "",
        namespace: Namespace = "default",
        as_json: AsJson = False,
    ) -> int:
        from ...memory.personas import registry as registry_acts

        decide = getattr(registry_acts, name)
        with open_configured_store() as store:
            change = store.personas.decide(
                namespace, lambda registry: decide(registry, name_, at=time.time(), reason=reason)
            )
        assert change is not None  # noqa: S101 - a person's act is a change or an error
        if as_json:
            print_json(change)
        else:
            print_text(f"{change.persona}: {change.before} → {change.after}.")
        return 0

    act.__name__, act.__doc__ = name, about
    return act


def _attempts(store: Store, namespace: str) -> Counter[tuple[str, bool]]:
    return Counter(
        (episode.persona, episode.succeeded) for _, episode in entries_of(store.log, namespace)
    )


def _record(attempts: Counter[tuple[str, bool]], name: str) -> dict[str, int]:
    good = attempts[name, True]
    return {"attempts": good + attempts[name, False], "succeeded": good}


def _fields(known: KnownPersona) -> dict[str, Any]:
    found = [change.evidence for change in known.changes if change.evidence]
    return {
        "name": known.persona.name,
        "title": known.persona.title,
        "status": known.status,
        "origin": known.origin,
        "held": known.is_held,
        "why": known.reason,
        "evidence": found[-1].model_dump(mode="json") if found else None,
    }


persona_app.command("show")(command(show_persona, "write"))
for _name, _about in _ACTS.items():
    persona_app.command(_name)(command(_act(_name, _about), "write"))
