"""Which persona a planner's agent name means: what is plainly the same, never a guess. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .model import Persona, fits, names_of
from .names import skill, spelling

__all__ = ["match", "same_agent"]

_Says = Callable[[Persona], bool]


def match(
    groups: Sequence[Sequence[Persona]], name: str, prompt: str, task_type: str = ""
) -> Persona | None:
    """Return the persona that is meant, None if none plainly is.

    A name means a persona if it is its name, title or an alias in any spelling; else if it says
    the same words in any order, rank left out (`Senior Python Developer`); else if it ends with an
    alias that has a star (`Wine Judge`, `* Judge`). Half a name means nobody.

    Args:
        groups: Personas, those that come first in the first group. Where a name means several of a
            group, the one with this very prompt is meant, or none.
        prompt: The agent's system prompt.
        task_type: What it shall do, such as `code/python`; who isn't for that isn't meant. "" for
            any.
    """
    for says in (_is_named(name), _has_skill(name), _ends_with(name)):
        for group in groups:
            meant = [persona for persona in group if says(persona) and _may(persona, task_type)]
            if len(meant) > 1:
                return next(
                    (persona for persona in meant if same_agent(persona, persona.title, prompt)),
                    None,
                )
            if meant:
                return meant[0]
    return None


def same_agent(persona: Persona, name: str, prompt: str) -> bool:
    """Whether name and prompt are the persona's own, but for spelling and white space."""
    mine = {spelling(persona.name), spelling(persona.title)}
    return spelling(name) in mine and persona.instructions.split() == prompt.split()


def _may(persona: Persona, task_type: str) -> bool:
    return not task_type or fits(persona, task_type)


def _is_named(name: str) -> _Says:
    spelt = spelling(name)
    return lambda persona: any(spelt == spelling(own) for own in _plain(persona)) and bool(spelt)


def _has_skill(name: str) -> _Says:
    words = skill(name)
    return lambda persona: any(words == skill(own) for own in _plain(persona)) and bool(words)


def _ends_with(name: str) -> _Says:
    spelt = f" {spelling(name)}"
    return lambda persona: any(
        spelt.endswith(f" {spelling(alias)}") for alias in persona.aliases if alias.startswith("* ")
    )


def _plain(persona: Persona) -> list[str]:
    return [name.removeprefix("* ") for name in names_of(persona)]
