"""Personas as data: who does a kind of work, and how; and spellings of a name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import combinations
from pathlib import Path
from typing import Annotated, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from ...errors import InputError
from ...plan.output import OutputKind, Text, as_tuple
from ...plan.task_ir import TaskType, describe
from ...untrusted.yaml_text import read_yaml_file

__all__ = [
    "SHIPPED",
    "Persona",
    "fits",
    "load_persona",
    "load_personas",
    "match",
    "names_of",
    "same_agent",
    "shipped_personas",
    "skill",
    "spelling",
]


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
# Words for rank or role, which don't say what the work is.
_RANK = re.compile(
    r"a|ai|an|agent|and|assistant|careful|certified|chief|dedicated|diligent|experienced|expert|"
    r"for|in|junior|lead|meticulous|of|principal|professional|senior|skilled|specialist|sub|"
    r"subagent|the|thorough"
)


@lru_cache(4096)
def spelling(name: str) -> str:
    """Return a name's words, separated by spaces: `FactChecker` and `fact-checker` are equal."""
    apart = _CAMEL.sub(" ", unicodedata.normalize("NFKC", name))
    return " ".join(_british(word) for word in _WORD.findall(apart.casefold()))


@lru_cache(4096)
def skill(name: str) -> frozenset[str]:
    """Return the words that say what the work is; rank, order and plurals don't count."""
    return frozenset(
        _singular(word) for word in spelling(name).split() if not _RANK.fullmatch(word)
    )


def _british(word: str) -> str:
    return re.sub(r"(?<=[a-z]{3})([iy])z(?=er|ed|ing|ation|e$)", r"\1s", word)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "su" else word


SHIPPED = Path(__file__).parent / "shipped"
"""The folder of the personas that come with the package."""

_FORM = "`prefect-swarm docs personas` has the fields."
_TASKS = (*get_args(TaskType), "*")
_KINDS = (*get_args(OutputKind), "*")


def _check_task_type(pattern: str) -> str:
    task, _, kind = pattern.partition("/")
    if task not in _TASKS or kind not in _KINDS:
        raise ValueError(
            f"{pattern!r} is not a task type: it is TASK/KIND with a task of {', '.join(_TASKS)} "
            f"and a kind of {', '.join(_KINDS)}"
        )
    return pattern


def _check_kebab_case(name: str) -> str:
    if not re.fullmatch(r"[^\W_]+(?:-[^\W_]+)*", name) or name != name.casefold():
        raise ValueError("a name is small letters and digits, with single hyphens between words")
    return name


def _check_alias(alias: str) -> str:
    if not spelling(alias.removeprefix("* ")):
        raise ValueError(f"{alias!r} has no word")
    if "*" in alias.removeprefix("* "):
        raise ValueError(f"{alias!r}: a star is allowed only in front, followed by a space")
    return alias


def _check_distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(values)) < len(values):
        raise ValueError("an entry is there twice")
    return values


_Tuple = (BeforeValidator(as_tuple), AfterValidator(_check_distinct))
_TaskTypes = Annotated[
    tuple[Annotated[str, AfterValidator(_check_task_type)], ...], *_Tuple, Field(min_length=1)
]


class Persona(BaseModel):
    """Who does a kind of work, and how.

    Attributes:
        name: Its name, in kebab-case.
        title: Its name for people.
        instructions: The system prompt.
        task_types: What it is for: `task/kind` as in an episode, `*` for any.
        aliases: Names that planners use for it; `* Judge` is any words before `Judge`.
        version: Increased with every change to what it does.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    name: Annotated[str, AfterValidator(_check_kebab_case)] = Field(min_length=1, max_length=100)
    title: Annotated[Text, Field(max_length=80)]
    instructions: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        min_length=1, max_length=8000
    )
    task_types: _TaskTypes
    aliases: Annotated[
        tuple[Annotated[Text, Field(max_length=80), AfterValidator(_check_alias)], ...], *_Tuple
    ] = ()
    version: int = Field(ge=1)


def fits(persona: Persona, task_type: str) -> bool:
    """Whether a persona is for tasks of that type, such as `code/python`."""
    task, _, kind = task_type.partition("/")
    patterns = (pattern.split("/") for pattern in persona.task_types)
    return any(t in ("*", task) and k in ("*", kind) for t, k in patterns)


def load_persona(path: Path) -> Persona:
    """Read one persona from YAML; the file is named after it.

    Raises:
        InputError: It can't be read, isn't YAML, or breaks a rule; says which file and field.
    """
    data = read_yaml_file(path, "persona", _FORM).value
    try:
        persona = Persona.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(describe(error))
        raise InputError(
            f"The persona {path} breaks a rule: {problems}.",
            _FORM,
        ) from None
    if persona.name != path.stem:
        raise InputError(
            f"The persona {path} breaks a rule: name: {persona.name!r} is not the file's name.",
            f"Rename the file to {persona.name}.yaml, or the persona.",
        )
    return persona


def load_personas(folder: Path) -> tuple[Persona, ...]:
    """Read every `*.yaml` of a folder, by name; a missing folder gives none.

    Raises:
        InputError: A file is wrong, or two answer to the same name.
    """
    try:
        files = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    except OSError as error:
        raise InputError(
            f"The personas in {folder} can't be read: {error}.", "Check the folder."
        ) from None
    if odd := next((path for path in files if path.exists() and not path.is_file()), None):
        raise InputError(f"The persona {odd} is not a file.", "Remove it.")
    found = tuple(map(load_persona, files))
    if clash := _find_clash(found):
        first, second, name = clash
        raise InputError(
            f"The personas {first.name} and {second.name} in {folder} break a rule: "
            f"both answer to {name!r}.",
            "Remove that alias from one of them.",
        )
    return found


@cache
def shipped_personas() -> tuple[Persona, ...]:
    """The personas that come with the package, by name."""
    return load_personas(SHIPPED)


def names_of(persona: Persona) -> Iterable[str]:
    """All names of a persona: name, title and aliases."""
    return (persona.name, persona.title, *persona.aliases)


def _find_clash(personas: tuple[Persona, ...]) -> tuple[Persona, Persona, str] | None:
    spellings = [{_spelling_of(name): name for name in names_of(persona)} for persona in personas]
    for (first, mine), (second, theirs) in combinations(zip(personas, spellings, strict=True), 2):
        for spelt in mine.keys() & theirs.keys():
            return first, second, theirs[spelt]
    return None


def _spelling_of(name: str) -> tuple[bool, str]:
    return name.startswith("* "), spelling(name.removeprefix("* "))


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
