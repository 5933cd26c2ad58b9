"""The hidden tests: what decides whether a step was done, shown to no model and no gate.

A line of `hidden.jsonl` is what its step's kind needs:

- python: further `examples`, and `tests` that pytest runs, over the names the artifact defines;
- shell: `runs`, each with arguments, standard input and files, and what has to come of it;
- json: a JSON Schema that only right values fit;
- text: patterns, read without regard to case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from prefect_swarm.errors import InputError
from prefect_swarm.plan.task_ir import Example, describe
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

__all__ = [
    "HIDDEN",
    "JsonTruth",
    "PythonTruth",
    "ShellRun",
    "ShellTruth",
    "TextTruth",
    "Truth",
    "load_hidden",
    "text_flaw",
]

HIDDEN = Path(__file__).with_name("hidden.jsonl")

_FLAGS = re.IGNORECASE | re.DOTALL | re.MULTILINE
_ENTRY = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+(.*)")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PythonTruth(_Strict):
    """What calls have to give, and tests of properties."""

    id: str
    kind: Literal["python"]
    examples: tuple[Example, ...] = Field(min_length=1)
    tests: str = ""


class ShellRun(_Strict):
    """One run of a script, named `script` and started in a folder with `files`.

    Attributes:
        stdout: What it has to print; white space at the ends of lines and texts doesn't count.
        exit: The exit code it has to end with.
        leaves: Files that have to be there in the end, with their contents.
    """

    argv: tuple[str, ...] = ()
    stdin: str = ""
    files: Mapping[str, str] = Field(default_factory=dict[str, str])
    stdout: str
    exit: int = 0
    leaves: Mapping[str, str] = Field(default_factory=dict[str, str])


class ShellTruth(_Strict):
    """What has to come of a script's runs."""

    id: str
    kind: Literal["shell"]
    runs: tuple[ShellRun, ...] = Field(min_length=1)


class JsonTruth(_Strict):
    """The schema that only right values fit."""

    model_config = ConfigDict(validate_by_name=True)

    id: str
    kind: Literal["json"]
    json_schema: dict[str, Any] = Field(alias="schema")


class TextTruth(_Strict):
    """What a text has to be.

    Attributes:
        whole: A pattern of the whole text.
        says: Patterns that have to be found.
        never: Patterns that may not be found.
        entries: A pattern for each entry of a list, in any order, and no entry besides.
    """

    id: str
    kind: Literal["text"]
    whole: str | None = None
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    distinct: bool = False
    min_words: int = 0
    max_words: int | None = None


Truth = PythonTruth | ShellTruth | JsonTruth | TextTruth
_LINE: TypeAdapter[Truth] = TypeAdapter(Annotated[Truth, Field(discriminator="kind")])


def load_hidden(path: Path = HIDDEN) -> dict[str, Truth]:
    """Read the hidden tests, by their steps' ids.

    Raises:
        InputError: A line breaks a rule; it names the line.
    """
    found: dict[str, Truth] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            truth = _LINE.validate_json(line)
        except ValidationError as error:
            problems = "; ".join(describe(error))
            raise InputError(f"Line {number} of {path} is not a hidden test: {problems}.") from None
        found[truth.id] = truth
    return found


def text_flaw(truth: TextTruth, text: str) -> str:
    """Say what is wrong with a text; nothing if it is right."""
    text = text.strip()
    words = len(text.split())
    if truth.whole is not None and not re.fullmatch(truth.whole, text, _FLAGS):
        return f"it isn't {truth.whole}"
    if missing := [phrase for phrase in truth.says if not re.search(phrase, text, _FLAGS)]:
        return f"it doesn't say {missing[0]}"
    if wrong := [phrase for phrase in truth.never if re.search(phrase, text, _FLAGS)]:
        return f"it says {wrong[0]}"
    if words < truth.min_words or words > (truth.max_words or words):
        return f"it has {words} words"
    return _entries_flaw(truth, text) if truth.entries else ""


def _entries_flaw(truth: TextTruth, text: str) -> str:
    entries = [match[1].strip() for line in text.splitlines() if (match := _ENTRY.match(line))]
    if len(entries) != len(truth.entries):
        return f"it has {len(entries)} entries, not {len(truth.entries)}"
    if truth.distinct and len({entry.casefold() for entry in entries}) < len(entries):
        return "an entry is there twice"
    for pattern in truth.entries:
        if not any(re.fullmatch(pattern, entry, _FLAGS) for entry in entries):
            return f"no entry is {pattern}"
    if stray := [entry for entry in entries if not _is_any(entry, truth.entries)]:
        return f"the entry {stray[0]!r} is wrong"
    return ""


def _is_any(entry: str, patterns: tuple[str, ...]) -> bool:
    return any(re.fullmatch(pattern, entry, _FLAGS) for pattern in patterns)
