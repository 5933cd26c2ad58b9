"""`prefect-swarm memory personas` and `persona …`: who there is, and deciding about them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...memory.configured import open_configured_store
from ...text import one_line
from ..command import AsJson, command
from ..output.printing import print_json, print_section, print_table, print_text
from .options import Namespace, entries_of

if TYPE_CHECKING:
    from ...memory.persona.registry import Change, DecisionEvidence, KnownPersona
    from ...memory.store import Store

__all__ = ["persona_app", "personas"]

_ACTS = {
    "promote": "Let any step have an invented persona, whatever its evidence.",
    "retire": "Let no step have a persona any more.",
    "restore": "Take a retired persona back as what it was.",
    "undo": "Reverse what was decided last about a persona; twice is as before.",
    "release": "Let reviews decide again about one that a person has decided about.",
}

Name = Annotated[str, typer.Argument(metavar="NAME", help="A persona's name or title.")]

persona_app = typer.Typer(no_args_is_help=True, help="One persona: see and decide.")


def personas(namespace: Namespace = "default", as_json: AsJson = False) -> int:
    """List the personas there are: where from, their status, and what speaks for and against."""
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


def show_persona(name: Name, namespace: Namespace = "default", as_json: AsJson = False) -> int:
    """Show a persona whole, its record, and every decision about it with its evidence."""
    with open_configured_store() as store:
        known = store.personas.registry(namespace).find(name)
        record = _record(_attempts(store, namespace), known.persona.name)
    if as_json:
        changes = [change.model_dump(mode="json") for change in known.changes]
        definition = known.persona.model_dump(mode="json")
        print_json({**_fields(known), **record, "definition": definition, "changes": changes})
        return 0
    persona = known.persona
    print_section(f"{persona.title} ({persona.name}): {known.status}, {known.origin}")
    for label, text in (
        ("for", ", ".join(persona.task_types)),
        ("also called", ", ".join(persona.aliases)),
        ("version", str(persona.version)),
        ("attempts", f"{record['attempts']:,}, of which {record['succeeded']:,} succeeded"),
        ("held", "a person has decided; no review changes it" if known.is_held else ""),
        ("instructions", persona.instructions),
    ):
        if text:
            print_text(f"{label:<13} {text}")
    if known.changes:
        print_section("Decisions")
    for change in known.changes:
        print_text(_change(change))
    return 0


def _act(name: str, about: str) -> Callable[..., int]:
    def act(
        name_: Name,
        reason: Annotated[str, typer.Option(help="Why, for those who look later.")] = "",
        namespace: Namespace = "default",
        as_json: AsJson = False,
    ) -> int:
        from ...memory.persona import decisions as registry_acts

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


def _change(change: Change) -> str:
    when = datetime.fromtimestamp(change.at).astimezone()
    way = f"{change.before} → {change.after}" if change.before else change.after
    line = f"{when:%Y-%m-%d %H:%M} {change.action} by {change.by}: {way}"
    reason = f". {change.reason}" if change.reason else ""
    return line + reason + (f" ({_evidence(change.evidence)})" if change.evidence else "")


def _evidence(found: DecisionEvidence) -> str:
    return (
        f"{found.successes} of {found.successes + found.failures} attempts, {found.rate:.0%}, "
        f"surely {found.low:.0%} to {found.high:.0%}; others {found.baseline:.0%}"
    )


persona_app.command("show")(command(show_persona, "write"))
for _name, _about in _ACTS.items():
    persona_app.command(_name)(command(_act(_name, _about), "write"))
