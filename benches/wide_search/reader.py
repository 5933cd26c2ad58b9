"""A scripted subagent that fills tables: it knows its prompt and what tools answered, no more.

It searches for a name once, reads the titles, opens what is worth it, the newest first, and looks
again in other words for what it has not found. So a person would; the script is the same for all
arms, and only what an arm asks of it differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import (
    ModelMessage,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from .flaws import Flaws
from .questions import UNKNOWN, hops
from .reading import (
    WORDS,
    Fact,
    Title,
    Wanted,
    facts_in,
    names_in,
    rows_in,
    titles_in,
    yearbook_of,
)

__all__ = ["Reader"]

Parts = list[TextPart | ToolCallPart]
_OTHERS = 2
"""Pages without the name in their titles that it opens for a value."""
_NOTED = 5
"""Rows after which it writes down what it has, where it has a table to do so."""
_READ = ToolCallPart("read_rows", {})
_PLACE = re.compile(r"^Row (\d+), (\d+) noted\.")


@dataclass(slots=True)
class _Seen:
    """What a conversation holds, as far as it is known."""

    searched: set[str] = field(default_factory=set[str])
    titles: dict[str, Title] = field(default_factory=dict[str, Title])
    opened: set[str] = field(default_factory=set[str])
    facts: dict[tuple[str, str], Fact] = field(default_factory=dict[tuple[str, str], Fact])
    lists: dict[str, dict[int, tuple[str, ...]]] = field(
        default_factory=dict[str, dict[int, tuple[str, ...]]]
    )
    parts: dict[str, int] = field(default_factory=dict[str, int])
    by_query: dict[str, tuple[Title, ...]] = field(default_factory=dict[str, tuple[Title, ...]])
    table: str = ""
    row: int = 0
    noted: int = 0


@dataclass(frozen=True, slots=True)
class Reader:
    """Fills tables.

    Attributes:
        calls: The most calls that one answer makes.
    """

    flaws: Flaws
    calls: int = 1

    def answer(
        self,
        wanted: Wanted,
        conversation: str,
        messages: Sequence[ModelMessage],
        request: int,
        tools: Sequence[str],
    ) -> Parts:
        """Return the next calls, or the answer.

        Args:
            wanted: What the prompt asks for.
            conversation: What tells this conversation from others.
            messages: What it knows of it, beside the prompt.
            request: The request's number in the conversation, from 1.
            tools: The tools that there are.
        """
        seen = self._seen(messages)
        has_table = "read_rows" in tools
        if self.flaws.has_stopped(conversation, request) or not tools:
            return self._ended(wanted, conversation, seen, seen.row, has_table, whole=False)
        if wanted.of and (actions := [*self._list(wanted.of, seen, bool(wanted.columns))]):
            return self._called(actions, seen.row, seen.noted)
        names = _names(wanted, seen)
        row, actions = self._rows(names, wanted.columns, seen)
        is_due = row - seen.noted >= _NOTED or row == len(names) > seen.noted
        if has_table and is_due:
            rows = [self._row(name, wanted, seen) for name in names[seen.noted : row]]
            words = TextPart(f"Row {row}, {row} noted.")
            return [words, ToolCallPart("note_rows", {"rows_": rows})]
        if actions:
            return self._called(actions, row, seen.noted)
        return self._ended(wanted, conversation, seen, row, has_table, whole=True)

    def _rows(
        self, names: Sequence[str], columns: Sequence[str], seen: _Seen
    ) -> tuple[int, list[tuple[str, str]]]:
        """Return the first row that isn't done, and what to look up next, at most `calls`."""
        row, actions = seen.row, dict[tuple[str, str], None]()
        for number in range(row, len(names)):
            found = dict.fromkeys(self._next(names[number], columns, seen))
            if not actions and not found:
                row = number + 1
            actions |= found
            if len(actions) >= self.calls:
                break
        return row, [*actions][: self.calls]

    def _ended(
        self,
        wanted: Wanted,
        conversation: str,
        seen: _Seen,
        row: int,
        has_table: bool,
        *,
        whole: bool,
    ) -> Parts:
        """Answer, after a look at the table where there is one."""
        if has_table and not seen.table:
            return [TextPart(f"Row {row}, {seen.noted} noted."), _READ]
        return self._written(wanted, conversation, seen, whole=whole)

    def _called(self, actions: Sequence[tuple[str, str]], row: int, noted: int) -> Parts:
        calls = [
            ToolCallPart(tool, {"query" if tool == "search" else "page": text})
            for tool, text in actions[: self.calls]
        ]
        return [TextPart(f"Row {row}, {noted} noted."), *calls]

    def _list(self, of: str, seen: _Seen, fills: bool) -> Iterator[tuple[str, str]]:
        """Yield what has to be looked up until all names are known."""
        parts = seen.lists.get(of, {})
        if parts and len(parts) == seen.parts[of]:
            return
        register = f"Register of {of}, part "
        titles = [each for each in seen.titles.values() if each.text.startswith(register)]
        # Where it has forgotten some of them, it searches again.
        if len(titles) < seen.parts.get(of, 1):
            if f"Register of {of}" not in seen.searched:
                yield "search", f"Register of {of}"
            return
        books = [each for each in seen.titles.values() if yearbook_of(each, of)]
        titles.sort(key=lambda each: each.text)
        for title in [*(books if fills else []), *titles]:
            if title.page not in seen.opened:
                yield "open", title.page

    def _next(self, name: str, columns: Sequence[str], seen: _Seen) -> Iterator[tuple[str, str]]:
        """Yield what to look up next for each cell of a row that isn't known yet."""
        for column in columns:
            entity = name
            for attribute in hops(column):
                if (action := self._look(entity, attribute, seen)) is not None:
                    yield action
                    break
                if (fact := seen.facts.get((entity, attribute))) is None:
                    break
                entity = fact.value

    def _look(self, entity: str, attribute: str, seen: _Seen) -> tuple[str, str] | None:
        fact = seen.facts.get((entity, attribute))
        own = [
            title
            for title in seen.titles.values()
            if title.name == entity and attribute in title.attributes
        ]
        own.sort(key=lambda title: title.at, reverse=True)
        fresh = [title for title in own if title.page not in seen.opened]
        if fact is not None:
            newer = next((title for title in fresh if title.at > fact.at), None)
            return ("open", newer.page) if newer else None
        if entity not in seen.searched:
            return "search", entity
        if fresh and fresh[0] is own[0]:
            return "open", fresh[0].page
        again = f"{entity} {WORDS[attribute]}"
        if again not in seen.searched:
            return "search", again
        others = [title for title in seen.by_query[again] if title.text.startswith("Notes")]
        for title in others[:_OTHERS]:
            if title.page not in seen.opened:
                return "open", title.page
        return ("open", fresh[0].page) if fresh else None

    def _written(self, wanted: Wanted, conversation: str, seen: _Seen, *, whole: bool) -> Parts:
        """Write the table; rows that it has not come to are left out of it."""
        names = _names(wanted, seen)
        if not wanted.columns:
            return [TextPart(json.dumps(names))]
        rows = [{**row} for row in (*wanted.carried, *rows_in(seen.table))]
        rows = [self._copied(row, conversation) for row in rows]
        there = {row["name"]: row for row in rows}
        shown = names if whole or wanted.is_row else names[: seen.row + 1]
        for name in shown:
            row = self._row(name, wanted, seen)
            if name not in there:
                rows.append(row)
            elif not seen.table:
                there[name].update({k: v for k, v in row.items() if k not in there[name]})
        return [TextPart(json.dumps(rows[0] if wanted.is_row else rows, ensure_ascii=False))]

    def _copied(self, row: Mapping[str, str], conversation: str) -> dict[str, str]:
        return {
            name: cell
            if name == "name"
            else self.flaws.copy(cell, conversation, f"{row['name']} {name}")
            for name, cell in row.items()
        }

    def _row(self, name: str, wanted: Wanted, seen: _Seen) -> dict[str, str]:
        row = {"name": name}
        for column in wanted.columns:
            entity = name
            for attribute in hops(column):
                fact = seen.facts.get((entity, attribute))
                entity = fact.value if fact else UNKNOWN
                if fact is None:
                    break
            row[column] = entity
        return row

    def _seen(self, messages: Sequence[ModelMessage]) -> _Seen:
        seen = _Seen()
        queries: dict[str, str] = {}
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    self._take(str(part.content), queries.get(part.tool_call_id, ""), seen)
                    if part.tool_name == "read_rows":
                        seen.table = str(part.content)
                    elif part.tool_name == "open":
                        self._take_facts(str(part.content), seen)
                elif isinstance(part, ToolCallPart) and part.tool_name == "search":
                    query = str(part.args_as_dict()["query"])
                    queries[part.tool_call_id] = query
                    seen.searched.add(query)
                elif isinstance(part, TextPart) and (place := _PLACE.match(part.content)):
                    seen.row, seen.noted = int(place[1]), int(place[2])
        # A search whose result is forgotten has to be made again.
        seen.searched &= seen.by_query.keys()
        return seen

    def _take(self, text: str, query: str, seen: _Seen) -> None:
        titles = titles_in(text)
        if query:
            seen.by_query[query] = titles
        for title in titles:
            seen.titles[title.page] = title
        if not query:
            seen.opened.update(title.page for title in titles)
            for of, part, parts, names in names_in(text):
                seen.lists.setdefault(of, {})[part] = names
                seen.parts[of] = parts

    def _take_facts(self, text: str, seen: _Seen) -> None:
        for fact in facts_in(text):
            place = (fact.name, fact.attribute)
            before = seen.facts.get(place)
            if before is None or before.at < fact.at:
                value = self.flaws.read(fact.value, " ".join([*place, str(fact.at)]))
                seen.facts[place] = Fact(*place, value, fact.at)


def _names(wanted: Wanted, seen: _Seen) -> list[str]:
    parts = seen.lists.get(wanted.of, {})
    return [*wanted.names, *(name for part in sorted(parts) for name in parts[part])]
