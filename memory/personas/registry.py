"""The registry of personas, and decisions of planners and persons about them."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ...data_types import Frozen, Moment
from ...errors import InputError
from ..episode import EpisodeKey
from .model import Persona, fits, match, same_agent, spelling

__all__ = [
    "Action",
    "Change",
    "DecisionEvidence",
    "KnownPersona",
    "Origin",
    "Registry",
    "Status",
    "invent",
    "promote",
    "registry_of",
    "release",
    "restore",
    "retire",
    "undo",
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


_LONGEST_NAME = 80
_LONGEST_PROMPT = 8000
# Marks of chat templates would end the system prompt that contains them.
_UNFIT = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|<\||\|>|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>",
    re.IGNORECASE,
)


def invent(
    registry: Registry, name: str, prompt: str, task_type: str, *, at: float, known_as: str = ""
) -> Change | None:
    """Add an agent that an orchestrator invented as a candidate, for its kind of output.

    None if it exists already, if it can't be reused (a prompt over 8,000 characters, or with
    control characters or marks of a chat template), or if its name means a persona.

    Args:
        prompt: The agent's system prompt.
        task_type: Such as `code/python`.
        known_as: Its name, if that is free.
    """
    unfit = not prompt.strip() or len(prompt) > _LONGEST_PROMPT or _UNFIT.search(prompt + name)
    if (
        unfit
        or registry.match(name, prompt, task_type)
        or registry.find_invented(name, prompt, task_type)
    ):
        return None
    kind = task_type.rpartition("/")[2]
    is_free = known_as and known_as not in registry.known
    slug = known_as if is_free else _free_name(registry, name, kind, prompt)
    return Change(
        persona=slug,
        action="invent",
        before=None,
        after="candidate",
        by="planner",
        reason=f"an orchestrator invented it for a step of type {task_type}",
        definition=Persona(
            name=slug,
            title=name.strip()[:_LONGEST_NAME] or slug,
            instructions=prompt,
            task_types=(f"*/{kind}",),
            version=1,
        ),
        follows=registry.last.get(slug, 0),
        at=at,
    )


def promote(registry: Registry, name: str, *, at: float, reason: str = "") -> Change:
    """Make an invented persona available to all steps, whatever a review finds.

    Raises:
        InputError: No persona has that name, it comes from a file, or it is promoted.
    """
    known = _find_invented(registry, name, "promoted")
    if known.status == "promoted":
        raise InputError(f"The persona {known.persona.name} is promoted already.")
    return _change_by_person(registry, known, "promote", "promoted", at, reason)


def retire(registry: Registry, name: str, *, at: float, reason: str = "") -> Change:
    """Make a persona unavailable.

    Raises:
        InputError: No persona has that name, or it is retired.
    """
    known = registry.find(name)
    if known.status == "retired":
        raise InputError(
            f"The persona {known.persona.name} is retired already.", "Restore it to use it again."
        )
    return _change_by_person(registry, known, "retire", "retired", at, reason)


def restore(registry: Registry, name: str, *, at: float, reason: str = "") -> Change:
    """Give a retired persona its earlier status.

    Raises:
        InputError: No persona has that name, or it isn't retired.
    """
    known = registry.find(name)
    if known.status != "retired":
        raise InputError(f"The persona {known.persona.name} is not retired: it is {known.status}.")
    earlier: list[Status] = [
        change.before for change in known.changes if change.before not in (None, "retired")
    ]
    return _change_by_person(registry, known, "restore", earlier[-1], at, reason)


def undo(registry: Registry, name: str, *, at: float, reason: str = "") -> Change:
    """Reverse the last change of a persona; undoing twice restores the change.

    Undoing a review's change holds the persona: no review changes it again.

    Raises:
        InputError: No persona has that name, or nothing was decided.
    """
    known = registry.find(name)
    last = known.changes[-1] if known.changes else None
    if last is None or last.before is None:
        raise InputError(
            f"Nothing was decided about the persona {known.persona.name}.", "Retire it instead."
        )
    earlier = known.changes[-2] if len(known.changes) > 1 else None
    held = last.by == "review" or (earlier is not None and earlier.held)
    reason = reason or f"undoes: {last.reason or last.action}"
    change = _change_by_person(registry, known, "undo", last.before, at, reason)
    return change.model_copy(update={"held": held})


def release(registry: Registry, name: str, *, at: float, reason: str = "") -> Change:
    """Let reviews decide again about an invented persona that a person has decided about.

    Raises:
        InputError: No persona has that name, it comes from a file, or it isn't held.
    """
    known = _find_invented(registry, name, "reviewed")
    if not known.is_held:
        raise InputError(f"The persona {known.persona.name} is not held: reviews decide about it.")
    change = _change_by_person(registry, known, "release", known.status, at, reason)
    return change.model_copy(update={"held": False})


def _find_invented(registry: Registry, name: str, done: str) -> KnownPersona:
    known = registry.find(name)
    if known.origin != "invented":
        raise InputError(
            f"The persona {known.persona.name} comes from a file; only an invented one is {done}."
        )
    return known


def _change_by_person(
    registry: Registry, known: KnownPersona, action: Action, after: Status, at: float, reason: str
) -> Change:
    return Change(
        persona=known.persona.name,
        action=action,
        before=known.status,
        after=after,
        by="person",
        held=True,
        reason=reason,
        position=known.position,
        follows=registry.last.get(known.persona.name, 0),
        at=at,
    )


def _free_name(registry: Registry, name: str, kind: str, prompt: str) -> str:
    slug = "-".join(spelling(name).split())[:_LONGEST_NAME].strip("-")
    for free in (slug, f"{slug}-{kind}"):
        if slug and free not in registry.known:
            return free
    digest = hashlib.sha256(f"{name}\n{kind}\n{prompt}".encode()).hexdigest()[:8]
    return f"{slug or 'agent'}-{digest}"
