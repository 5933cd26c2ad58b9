"""Which personas there are and what has been decided about them: a fold over changes. Pure.

Shipped and users' personas come from files and are `active`. What an orchestrator invents is a
`candidate`, until a review or a person promotes or retires it. Nothing is overwritten: the
status is that of the last change, and every change can be undone by another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ...errors import InputError
from ...frozen import Frozen
from ...untrusted.figures import Moment
from ..episode import EpisodeKey
from .matching import match, same_agent
from .model import Persona, fits, spelling

__all__ = [
    "Action",
    "Change",
    "DecisionEvidence",
    "KnownPersona",
    "Origin",
    "Registry",
    "Status",
    "registry_of",
]

Status = Literal["active", "candidate", "promoted", "retired"]
Origin = Literal["user", "shipped", "invented"]
Action = Literal["invent", "promote", "retire", "restore", "undo", "release"]


class DecisionEvidence(Frozen):
    """The evidence of a review. Rates are shares of attempts, 0 to 1.

    Attributes:
        low, high: Bounds of the true rate, as wide as the policy asks.
        baseline: How often shipped and users' personas succeed at these types of task.
        baseline_samples: Attempts of theirs at these types.
        task_types: How many of the attempts were of each type.
        episodes: The latest of the attempts.
    """

    successes: int
    failures: int
    rate: float
    low: float
    high: float
    baseline: float
    baseline_samples: int
    task_types: Mapping[str, int]
    episodes: tuple[EpisodeKey, ...]


class Change(Frozen):
    """One decision about one persona.

    Attributes:
        id: Assigned by the store, 0 before.
        held: A person has decided, so no review changes it.
        definition: The invented persona, in its first change.
        position: Episodes up to this log position have been counted.
        follows: The `id` of the name's last change when this one was decided, 0 if none.
        at: Seconds since the Unix epoch.
    """

    id: int = 0
    persona: str
    action: Action
    before: Status | None
    after: Status
    by: Literal["planner", "review", "person"]
    held: bool = False
    reason: str = ""
    evidence: DecisionEvidence | None = None
    definition: Persona | None = None
    position: int = 0
    follows: int = 0
    at: Moment


@dataclass(frozen=True)
class KnownPersona:
    """A persona, where it comes from, and all that was decided about it."""

    persona: Persona
    origin: Origin
    changes: tuple[Change, ...] = ()

    @property
    def status(self) -> Status:
        """The status after the last change."""
        return self.changes[-1].after if self.changes else "active"

    @property
    def is_held(self) -> bool:
        """Whether a person has decided, so that no review does."""
        return bool(self.changes) and self.changes[-1].held

    @property
    def reason(self) -> str:
        """The reason for its status; "" if nothing was decided."""
        return self.changes[-1].reason if self.changes else ""

    @property
    def position(self) -> int:
        """The log position up to which decisions about it have counted episodes."""
        return max((change.position for change in self.changes), default=0)


@dataclass(frozen=True)
class Registry:
    """All personas by name: users', then shipped, then invented ones.

    `last` has the `id` of the last change of each name, also of personas that no longer exist.
    """

    known: Mapping[str, KnownPersona]
    last: Mapping[str, int]

    def find(self, name: str) -> KnownPersona:
        """Return the persona of that name or title, in any spelling.

        Raises:
            InputError: No persona has it, or several have that title.
        """
        if (exact := self.known.get(name)) is not None:
            return exact
        spelt = spelling(name)
        found = [
            known
            for known in self.known.values()
            if spelt and spelt in (spelling(known.persona.name), spelling(known.persona.title))
        ]
        if len(found) > 1:
            names = ", ".join(known.persona.name for known in found)
            raise InputError(f"Several personas are called {name!r}.", f"Say which: {names}.")
        if not found:
            raise InputError(
                f"There is no persona {name!r}.", f"There are {', '.join(sorted(self.known))}."
            )
        return found[0]

    def with_invented(self, change: Change) -> Registry:
        """Return the registry with an invented persona added."""
        if change.definition is None:
            return self
        known = KnownPersona(change.definition, "invented", (change,))
        return replace(
            self,
            known={**self.known, change.persona: known},
            last={**self.last, change.persona: change.id},
        )

    def usable_personas(self, task_type: str) -> tuple[Persona, ...]:
        """Return the active and promoted personas for that type of task."""
        return tuple(
            known.persona
            for known in self.known.values()
            if known.status in ("active", "promoted") and fits(known.persona, task_type)
        )

    def match(self, name: str, prompt: str, task_type: str = "") -> Persona | None:
        """Return the persona that a planner's agent is, None without a clear match.

        A candidate matches only its own name and prompt; a retired persona never matches.

        Args:
            prompt: The agent's system prompt.
            task_type: Such as `code/python`; "" for any.
        """
        groups = [
            [
                known.persona
                for known in self.known.values()
                if known.origin == origin and _is_usable(known)
            ]
            for origin in ("user", "shipped", "invented")
        ]
        if meant := match(groups, name, prompt, task_type):
            return meant
        own = self.find_invented(name, prompt, task_type)
        return own.persona if own and own.status == "candidate" else None

    def find_invented(self, name: str, prompt: str, task_type: str = "") -> KnownPersona | None:
        """Return the persona that was invented with this name and prompt, retired or not."""
        for known in self.known.values():
            fitting = not task_type or fits(known.persona, task_type)
            if known.origin == "invented" and fitting and same_agent(known.persona, name, prompt):
                return known
        return None


def _is_usable(known: KnownPersona) -> bool:
    return known.status in ("active", "promoted")


def registry_of(
    users: Iterable[Persona], shipped: Iterable[Persona], changes: Iterable[Change]
) -> Registry:
    """Fold changes, in the order of their ids, over the personas that come from files.

    A user's persona replaces a shipped one of its name; either replaces an invented one.
    """
    by_name: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_name[change.persona].append(change)
    from_files: dict[str, tuple[Persona, Origin]] = {
        persona.name: (persona, "user") for persona in users
    }
    for persona in shipped:
        from_files.setdefault(persona.name, (persona, "shipped"))
    known = {
        name: KnownPersona(persona, origin, _relevant_changes(by_name[name], True))
        for name, (persona, origin) in from_files.items()
    }
    for name, decided in by_name.items():
        first = next((change for change in decided if change.definition), None)
        if name not in known and first is not None and first.definition is not None:
            known[name] = KnownPersona(
                first.definition, "invented", _relevant_changes(decided, False)
            )
    return Registry(known, {name: decided[-1].id for name, decided in by_name.items() if decided})


def _relevant_changes(changes: list[Change], from_a_file: bool) -> tuple[Change, ...]:
    # A name may have belonged to an invented persona before a file of that name, or after it.
    # Only personas from files are ever active.
    return tuple(
        change for change in changes if ("active" in (change.before, change.after)) is from_a_file
    )
