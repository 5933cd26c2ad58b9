"""A scripted reader: it knows what its context has, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prefect_swarm.tasks.subagent.request import tokens_of
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.usage import RequestUsage

from with_tools.world import ATTRIBUTES, LATEST

__all__ = ["Reader", "table_in", "table_lines"]

Cell = tuple[str, str]
Table = dict[Cell, tuple[int, str]]
"""Values by entity and attribute, each with the year that it is of."""

_NAME = r"(?P<entity>[A-Z]\w+ [A-Z]\w+)"
_FACTS = {
    "staff": (
        rf"At the end of (?P<year>\d+), {_NAME} had (?P<value>\d+) employees\.",
        rf"{_NAME} employed (?P<value>\d+) people at the end of (?P<year>\d+)\.",
    ),
    "output": (
        rf"In (?P<year>\d+), {_NAME} produced (?P<value>\d+) tonnes\.",
        rf"{_NAME} delivered (?P<value>\d+) tonnes in (?P<year>\d+)\.",
    ),
    "founded": (
        rf"{_NAME} was founded in (?P<value>\d+)\.",
        rf"The founding year of {_NAME} is (?P<value>\d+)\.",
    ),
}
_ROW = re.compile(rf"^{_NAME} \| (?P<name>\w+) \| (?P<value>\d+) \| (?P<year>\d+)$", re.MULTILINE)
_PLACE = re.compile(r"^Cell (\d+), look (\d+)\.", re.MULTILINE)
_HIT = re.compile(r"^\[(?P<document>[\w/.]+), lines", re.MULTILINE)
_LOOKS = 4
"""Pages for a cell: a search, another one in other words, a wider one, and its first document."""
_REPEATED = 10
"""Cells after which a reader that keeps a table writes it down anew."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Fills a table, one page an answer, in the order of the rows that its prompt names.

    Attributes:
        context: Tokens of the conversation, its newest, that it still knows; None for all of them.
            The prompt stays, and with it what it is asked.
        keeps_table: Whether it writes its table down again and again, so as not to forget it.
    """

    context: int | None = None
    keeps_table: bool = False

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Answer with the next call, or with the table."""
        prompt, known = _prompt(messages), self._known(messages[1:])
        read = tokens_of((info.instructions or "") + prompt) + sum(map(_tokens, known))
        table = table_in(_texts(known))
        parts = self._next(_rows_wanted(prompt), table, known)
        written = sum(tokens_of(_text(part)) for part in parts)
        return ModelResponse(
            parts=parts, usage=RequestUsage(input_tokens=read, output_tokens=written)
        )

    def _known(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        if self.context is None:
            return [*messages]
        remaining, known = self.context, list[ModelMessage]()
        for message in reversed(messages):
            remaining -= _tokens(message)
            if remaining < 0 and known:
                break
            known.append(message)
        return known[::-1]

    def _next(
        self, entities: Sequence[str], table: Table, known: Sequence[ModelMessage]
    ) -> list[TextPart | ToolCallPart]:
        cells = [(entity, name) for entity in entities for name in ATTRIBUTES]
        cell, look = _place(known)
        while cell < len(cells) and (_is_done(table.get(cells[cell])) or look >= _LOOKS):
            cell, look = cell + 1, 0
        if cell == len(cells):
            return [TextPart(table_lines(table, cells))]
        words = f"Cell {cell}, look {look + 1}."
        if self.keeps_table and look == 0 and cell and cell % _REPEATED == 0:
            words += f" So far:\n{table_lines(table, cells)}"
        return [TextPart(words), _call(cells[cell], look, known)]


def _is_done(found: tuple[int, str] | None) -> bool:
    return found is not None and found[0] >= LATEST


def _call(cell: Cell, look: int, known: Sequence[ModelMessage]) -> ToolCallPart:
    entity, name = cell
    words = f"{entity} {ATTRIBUTES[name][look % 2]}"
    if look < _LOOKS - 1:
        year = "" if name == "founded" or not look else f" {LATEST}"
        return ToolCallPart("search", {"query": f"{words}{year}", "limit": 15 if look > 1 else 5})
    hits = _HIT.findall("\n".join(_texts(known[-2:])))
    return ToolCallPart("open", {"name": hits[0] if hits else entity})


def table_in(texts: Iterable[str]) -> Table:
    """Return what texts say: sentences of documents, and rows of tables; the newest year counts."""
    table: Table = {}
    for text in texts:
        for cell, year, value in [*_facts(text), *_rows(text)]:
            if cell not in table or table[cell][0] < year:
                table[cell] = year, value
    return table


def _facts(text: str) -> Iterator[tuple[Cell, int, str]]:
    for name, forms in _FACTS.items():
        for form in forms:
            for found in re.finditer(form, text):
                year = int(found.groupdict().get("year", LATEST))
                yield (found["entity"], name), year, found["value"]


def _rows(text: str) -> Iterator[tuple[Cell, int, str]]:
    for row in _ROW.finditer(text):
        yield (row["entity"], row["name"]), int(row["year"]), row["value"]


def table_lines(table: Table, cells: Iterable[Cell]) -> str:
    """Write the cells that a table has, a line each."""
    found = ((cell, table[cell]) for cell in cells if cell in table)
    rows = [f"{entity} | {name} | {value} | {year}" for (entity, name), (year, value) in found]
    return "\n".join(rows) or "Nothing was found."


def _place(known: Sequence[ModelMessage]) -> tuple[int, int]:
    """Return the cell and how often it was looked for, by the newest words of its own."""
    for message in reversed(known):
        if isinstance(message, ModelResponse) and (found := _PLACE.search(message.text or "")):
            return int(found[1]), int(found[2])
    return 0, 0


def _rows_wanted(prompt: str) -> list[str]:
    return re.findall(rf"^- {_NAME}$", prompt, re.MULTILINE)


def _prompt(messages: Sequence[ModelMessage]) -> str:
    return "\n".join(
        str(part.content) for part in messages[0].parts if isinstance(part, UserPromptPart)
    )


def _texts(messages: Iterable[ModelMessage]) -> list[str]:
    return ["\n".join(map(_text, message.parts)) for message in messages]


def _tokens(message: ModelMessage) -> int:
    return sum(tokens_of(_text(part)) for part in message.parts)


def _text(part: object) -> str:
    match part:
        case TextPart() | ToolReturnPart():
            return str(part.content)
        case ToolCallPart():
            return f"{part.tool_name} {part.args_as_json_str()}"
        case _:
            return ""
