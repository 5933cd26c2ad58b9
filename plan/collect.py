"""The outputs of several steps, joined without a model: as a table, a list, JSON or files. Pure.

docs/reference/plan_programs.md says what each way makes.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from ..untrusted.json_text import NoJsonError, read_json
from .output import SUFFIXES, Output, OutputKind
from .program import Collect

__all__ = [
    "COLLECTED_KINDS",
    "MAX_CELLS",
    "MAX_COLUMNS",
    "Collected",
    "Joined",
    "collect",
    "collected_output",
    "collected_output_problem",
    "csv_text",
]


COLLECTED_KINDS: Mapping[Collect, OutputKind] = MappingProxyType(
    {"table": "text", "list": "json", "json": "json", "files": "files"}
)
"""The kind of output that each way makes."""
MAX_COLUMNS = 1_000
MAX_CELLS = 5_000_000
"""What a table may have: outputs that share no field would make far more cells than text."""

_ITEM, _TEXT = "item", "text"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Joined:
    """An output that is joined, or a step or an instance that has none since it failed.

    Attributes:
        name: The id of the step or the instance.
        label: The short text of its item; "" for a step that has none.
        failed: Why it failed; "" if it succeeded.
    """

    name: str
    label: str = ""
    kind: OutputKind = "text"
    text: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Collected:
    """What outputs are joined to.

    Attributes:
        text: The joined output; "" where there is a problem.
        problem: Why they can't be joined, naming the step; "" if they are.
        notes: What a reader of the text has to know: what is missing, and what isn't as expected.
    """

    text: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()


def collected_output_problem(how: Collect, output: Output) -> str:
    """Say why a step that joins can't have this output; "" if it can.

    The kind that is the default stands for the one that the way makes.
    """
    made = COLLECTED_KINDS[how]
    if output.kind not in (made, Output().kind):
        return f"collect {how} makes an output of kind {made}, not {output.kind}"
    if made == output.kind:
        return ""
    bounds = output.model_dump(exclude={"kind", "json_schema", "examples"}, exclude_defaults=True)
    names = " and ".join(bounds)
    return f"collect {how} makes an output of kind {made}, and {names} is for text" if names else ""


def collected_output(how: Collect, output: Output) -> Output:
    """Return the output of a step that joins, with the kind that the way makes."""
    return output.model_copy(update={"kind": COLLECTED_KINDS[how]})


def collect(how: Collect, outputs: Sequence[Joined], output: Output | None = None) -> Collected:
    """Join outputs in their order; those that failed are missing from it, and a note names them.

    Args:
        how: The way they are joined.
        outputs: What is joined: of a step that is for each, one an instance.
        output: What the step that joins has to produce. Its schema isn't checked here.
    """
    if problem := collected_output_problem(how, output or Output()):
        return Collected(problem=problem)
    found = [each for each in outputs if not each.failed]
    failed = [each.name for each in outputs if each.failed]
    notes = [f"{len(failed)} of {len(outputs)} failed and are missing: {_named(failed)}"]
    notes = notes if failed else []
    if how == "files":
        return Collected(_files(found), notes=tuple(notes))
    values = [*map(_value, found)]
    wrong = [value for value in values if isinstance(value, _NotJson)]
    if wrong and how != "list":
        return Collected(problem=wrong[0].problem, notes=tuple(notes))
    if wrong:
        names = _named([value.name for value in wrong])
        notes.append(f"{len(wrong)} of kind json are not JSON, and stand as texts: {names}")
    if how == "table":
        return _table(found, values, tuple(notes))
    plain = [value.text if isinstance(value, _NotJson) else value for value in values]
    is_merged = how == "json" and all(isinstance(value, dict) for value in plain)
    joined = _merged(cast("list[dict[str, Any]]", plain)) if is_merged else plain
    return Collected(json.dumps(joined, ensure_ascii=False, indent=2), notes=tuple(notes))


def _named(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class _NotJson:
    """A text of kind json that can't be read as JSON."""

    name: str
    text: str
    problem: str


def _value(joined: Joined) -> Any:
    """Return an output as a value of JSON; of any other kind than json it is a text."""
    if joined.kind != "json":
        return joined.text
    try:
        return read_json(joined.text)
    except NoJsonError as error:
        problem = f"the output of {joined.name} is of kind json, and is not JSON: {error}"
        return _NotJson(joined.name, joined.text, problem)


def _merged(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge objects; a field that several have becomes a list of their values."""
    fields: dict[str, list[Any]] = {}
    for each in objects:
        for name, value in each.items():
            fields.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


def _table(found: Sequence[Joined], values: Sequence[Any], notes: tuple[str, ...]) -> Collected:
    rows: list[dict[str, Any]] = []
    columns: dict[str, None] = {}
    for joined, value in zip(found, values, strict=True):
        for row in _rows(joined, value):
            rows.append(row)
            columns |= dict.fromkeys(row)
            if len(columns) > MAX_COLUMNS or len(columns) * len(rows) > MAX_CELLS:
                problem = (
                    f"the table is too large with the output of {joined.name}: "
                    f"{len(rows):,} rows of {len(columns):,} columns"
                )
                return Collected(problem=problem, notes=notes)
    return Collected(csv_text(list(columns), rows), notes=notes)


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as CSV; "" without a column.

    A value that a row lacks, or null, is an empty cell, and a list or an object is JSON. What a
    spreadsheet would run as a formula has an apostrophe before it.
    """
    if not columns:
        return ""
    lines = _Lines()
    writer = csv.writer(lines)
    writer.writerow(map(_harmless, columns))
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return lines.text()


class _Lines:
    """Takes the rows that a writer of CSV makes, and ends each with a newline alone.

    Some versions of the writer quote a carriage return only where it ends their rows as well.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def write(self, line: str) -> int:
        self._lines.append(line.removesuffix("\r\n"))
        return len(line)

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


def _rows(joined: Joined, value: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of an output: itself, or each element of a list."""
    elements = cast("list[Any]", value) if isinstance(value, list) else [value]
    for each in elements:
        if isinstance(each, dict):
            yield cast("dict[str, Any]", each)
        else:
            yield {_ITEM: joined.label or joined.name, _TEXT: each}


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return _harmless(value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)


_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""How a cell begins that a spreadsheet would run; some trim blanks, some read wide signs alike."""
_NUMBER = re.compile(r"[+-][0-9]+(?:[.,][0-9]+)*(?:[eE][+-]?[0-9]+)?%?")


def _harmless(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    is_formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


_BACKTICKS = re.compile(r"`{3,}")
_NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")
_LONGEST = 50
"""Characters of a name; a file system takes 255 bytes, with four for each of some letters."""
_LOOKED_AT = 500
# Windows has devices of these names, whatever their suffix.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


def _files(found: Sequence[Joined]) -> str:
    """Write each output as a block with its path on the line before, as models write files."""
    return "\n\n".join(
        _block(path, joined.text) for path, joined in zip(_paths(found), found, strict=True)
    )


def _block(path: str, text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    ends = "" if not text or text.endswith("\n") else "\n"
    return f"{path}\n{fence}\n{text}{ends}{fence}"


def _paths(found: Sequence[Joined]) -> Iterator[str]:
    """Yield a path for each output, none of them twice, in any case of letters."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    for joined in found:
        suffix = SUFFIXES[joined.kind]
        stem = _stem(joined.label, suffix) or _stem(joined.name, suffix) or "file"
        path = plain = f"{stem}{suffix}"
        number = numbers.get(_alike(plain), 1)
        while _alike(path) in taken:
            number += 1
            path = f"{stem}-{number}{suffix}"
        numbers[_alike(plain)] = number
        taken.add(_alike(path))
        yield path


def _alike(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


def _stem(name: str, suffix: str) -> str:
    """Return a name for a file, without its suffix; "" if nothing of it can stand in one."""
    plain = unicodedata.normalize("NFC", name[:_LOOKED_AT]).removesuffix(suffix)
    stem = _NOT_IN_NAMES.sub("-", plain).strip("-.")[:_LONGEST].rstrip("-.")
    return f"{stem}_" if _DEVICE.fullmatch(stem) else stem
