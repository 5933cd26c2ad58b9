"""Which persona the name of a planner's agent means; only a clear match counts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .model import Persona, fits, names_of, skill, spelling

__all__ = ["match", "same_agent"]

_Matcher = Callable[[Persona], bool]


def match(
    groups: Sequence[Sequence[Persona]], name: str, prompt: str, task_type: str = ""
) -> Persona | None:
    """Return the persona that a name means, None without a clear match.

    A name means a persona if it is its name, title or an alias in any spelling; else if it has the
    same words in any order, without rank (`Senior Python Developer`); else if it ends with an alias
    that has a star (`Wine Judge`, `* Judge`). Part of a name doesn't match.

    Args:
        groups: Personas by precedence. If several of a group match, only one with the same prompt
            is returned.
        prompt: The agent's system prompt.
        task_type: The step's, such as `code/python`; only personas for it match. "" for any.
    """
    for matches in (_name_matcher(name), _skill_matcher(name), _ending_matcher(name)):
        for group in groups:
            meant = [
                persona for persona in group if matches(persona) and _is_for(persona, task_type)
            ]
            if len(meant) > 1:
                return next(
                    (persona for persona in meant if same_agent(persona, persona.title, prompt)),
                    None,
                )
            if meant:
                return meant[0]
    return None


def same_agent(persona: Persona, name: str, prompt: str) -> bool:
    """Whether name and prompt are the persona's, except for spelling and white space."""
    mine = {spelling(persona.name), spelling(persona.title)}
    return spelling(name) in mine and persona.instructions.split() == prompt.split()


def _is_for(persona: Persona, task_type: str) -> bool:
    return not task_type or fits(persona, task_type)


def _name_matcher(name: str) -> _Matcher:
    spelt = spelling(name)
    return lambda persona: (
        any(spelt == spelling(own) for own in _plain_names(persona)) and bool(spelt)
    )


def _skill_matcher(name: str) -> _Matcher:
    words = skill(name)
    return lambda persona: any(words == skill(own) for own in _plain_names(persona)) and bool(words)


def _ending_matcher(name: str) -> _Matcher:
    spelt = f" {spelling(name)}"
    return lambda persona: any(
        spelt.endswith(f" {spelling(alias)}") for alias in persona.aliases if alias.startswith("* ")
    )


def _plain_names(persona: Persona) -> list[str]:
    return [name.removeprefix("* ") for name in names_of(persona)]
