"""Decisions of planners and persons about personas; each function returns the change. Pure."""

from __future__ import annotations

import hashlib
import re

from ...errors import InputError
from .model import Persona, spelling
from .registry import Action, Change, KnownPersona, Registry, Status

__all__ = ["invent", "promote", "release", "restore", "retire", "undo"]

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
