"""The gates of texts: `citations`, `form`, `length`, `repetition`, `sections`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..errors import Category
from ..plan.task_ir import Form as FormName
from ..plan.task_ir import OutputKind
from .base import Diagnostic, Finding, Stage, Subject, fault

__all__ = ["FORMS", "Citations", "Form", "Length", "Repetition", "Sections", "repeated_text"]


_CITED = re.compile(r"\[([^\[\]\n]{1,80})\](?!\()")
"""`[S1]`, `[S1, S3]`, `[notes.txt]`; a Markdown link is none."""
_NONE = re.compile(r"\^.*|[A-Za-z]?|\s+|\.{3}|…|sic", re.IGNORECASE)
"""What else stands in square brackets: a footnote, an index, a box to tick, an omission."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
_LABEL = re.compile(r" {0,3}\[([^\[\]\n]{1,80})\]:\s")
"""Where a link's label gets its address: the label isn't a citation then."""


@dataclass(frozen=True)
class Citations:
    """At least one citation, and none of anything that isn't there."""

    name: str = "citations"
    about: str = "a text that cites, and only steps and inputs that it has read"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "2"

    async def check(self, subject: Subject) -> Finding:
        """Look up every name in square brackets among the names of what the step has read."""
        names = {output.name.casefold() for output in subject.upstream}
        if not names:
            return Finding(status="skipped")
        found: list[Diagnostic] = []
        cited = 0
        lines = _without_code(subject.artifact.splitlines())
        links = {label[1].strip().casefold() for label in map(_LABEL.match, lines) if label}
        for number, line in enumerate(lines, 1):
            for match in _CITED.finditer(line):
                if _is_text_of_link(line, match.end(), links):
                    continue
                for name in map(str.strip, match[1].split(",")):
                    known = name.casefold() in names
                    if not known and (name.casefold() in links or _NONE.fullmatch(name)):
                        continue
                    cited += 1
                    if not known:
                        message = f"[{name}] is none of what there was to read"
                        found.append(
                            Diagnostic(message=message, line=number, column=match.start() + 1)
                        )
        if found:
            return fault(Category.LOGIC, *found[:5])
        if not cited:
            names = ", ".join(f"[{output.name}]" for output in subject.upstream[:5])
            return fault(Category.FORMAT, f"cite what you read, as {names}")
        return Finding(status="passed")


def _is_text_of_link(line: str, end: int, links: Container[str]) -> bool:
    """Whether a link's label follows, as in `[text][label]`."""
    label = _CITED.match(line, end)
    return label is not None and label[1].strip().casefold() in links


def _without_code(lines: Sequence[str]) -> list[str]:
    """Return the lines with blanks in place of blocks of code and of code within a line."""
    found: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            found.append("")
            bare = line.strip()
            fence = "" if bare == fence[0] * len(bare) and len(bare) >= len(fence) else fence
        elif mark:
            found.append("")
            fence = mark[1]
        else:
            found.append(_SPAN.sub(lambda span: " " * len(span[0]), line))
    return found


_NUMBER = re.compile(r"[-+−]?(?:\d[\d,' ]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?")
_YES_NO = re.compile(r"(yes|no)\b", re.IGNORECASE)
_ENTRY = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+\S")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*$")


@dataclass(frozen=True)
class Form:
    """One line, a number, yes or no, a list, a table."""

    name: str = "form"
    about: str = "an answer in the form asked for: one_line, number, yes_no, list or table"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "1"

    async def check(self, subject: Subject) -> Finding:
        """Read the whole text as that form."""
        if subject.output.form is None:
            return Finding(status="skipped")
        wrong = FORMS[subject.output.form](subject.artifact.strip())
        return fault(Category.FORMAT, wrong) if wrong else Finding(status="passed")


def _one_line(text: str) -> str:
    return "" if text and "\n" not in text else "answer with one line"


def _number(text: str) -> str:
    # A unit may stand around the number, a second number or a sentence may not.
    numbers = _NUMBER.findall(text)
    if len(numbers) == 1 and len(text.split()) <= 4:
        return ""
    return "answer with one number, a unit at most beside it"


def _yes_no(text: str) -> str:
    return "" if _YES_NO.match(text) else "begin the answer with yes or no"


def _list(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    entries = sum(bool(_ENTRY.match(line)) for line in lines)
    # A heading may stand above, and an entry may go on in further lines.
    if entries >= 2 and entries * 2 >= len(lines):
        return ""
    return "answer with a list, an entry a line behind `- ` or `1. `"


def _table(text: str) -> str:
    lines = text.splitlines()
    ruled = next((n for n, line in enumerate(lines) if _RULE.match(line)), None)
    if ruled is None or ruled == 0 or not _ROW.match(lines[ruled - 1]):
        return "answer with a Markdown table: a head, a line of dashes, rows"
    columns = lines[ruled].count("|")
    rows = [line for line in lines[ruled + 1 :] if _ROW.match(line)]
    if not rows:
        return "the table has no row"
    if any(row.replace(r"\|", "").count("|") != columns for row in (lines[ruled - 1], *rows)):
        return f"every row of the table needs {columns - 1} cells"
    return ""


FORMS: Mapping[FormName, Callable[[str], str]] = MappingProxyType(
    {
        "one_line": _one_line,
        "number": _number,
        "yes_no": _yes_no,
        "list": _list,
        "table": _table,
    }
)
"""By form: what is wrong with a text, empty if nothing is."""


@dataclass(frozen=True)
class Length:
    """Words are what stands between white space."""

    name: str = "length"
    about: str = "a text within min_words and max_words"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "1"

    async def check(self, subject: Subject) -> Finding:
        """Count the words."""
        words = len(subject.artifact.split())
        least, most = subject.output.min_words, subject.output.max_words
        if least is not None and words < least:
            return fault(Category.FORMAT, f"{words} words are too few, write at least {least}")
        if most is not None and words > most:
            return fault(Category.FORMAT, f"{words} words are too many, write at most {most}")
        return Finding(status="passed")


_RUN = 4
"""Times that the same words may follow each other, less one: a chorus says a line three times."""
_LONGEST_PHRASE = 12
_FEWEST_LINES = 6
_SAME_LINES = 0.5


@dataclass(frozen=True)
class Repetition:
    """Empty texts fail too: they say nothing even once."""

    name: str = "repetition"
    about: str = "a text that isn't empty and doesn't repeat itself without end"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "1"

    async def check(self, subject: Subject) -> Finding:
        """Look for a phrase repeated over and over, and for lines that are mostly the same."""
        text = subject.artifact
        if not any(char.isprintable() and not char.isspace() for char in text):
            return fault(Category.FORMAT, "the text is empty")
        if phrase := repeated_text(text):
            return fault(
                Category.FORMAT, f"the text repeats itself: {phrase[:80]!r} again and again"
            )
        return Finding(status="passed")


def repeated_text(text: str) -> str:
    """Return what a text repeats over and over, if it does.

    That is a phrase of at most 12 words 4 times in a row, or a line that is half of at least 6
    lines.
    """
    words = re.findall(r"[^\W_]+", text.casefold())
    for length in range(1, _LONGEST_PHRASE + 1):
        if phrase := _run(words, length):
            return phrase
    lines = [line for line in map(str.strip, text.casefold().splitlines()) if len(line) > 3]
    if len(lines) >= _FEWEST_LINES:
        line, times = Counter(lines).most_common(1)[0]
        if times > 1 and times >= _SAME_LINES * len(lines):
            return line
    return ""


def _run(words: Sequence[str], length: int) -> str:
    same = 0
    for place in range(length, len(words)):
        same = same + 1 if words[place] == words[place - length] else 0
        # One word four times in a row is a manner of speaking ("no, no, no, no"): two rounds more.
        if same >= length * (_RUN - 1) and (length > 1 or same >= _RUN + 1):
            return " ".join(words[place - length + 1 : place + 1])
    return ""


_MARK = re.compile(r"\s*+(?:#{1,6}\s++|\d++[.)]\s++)?[*_]*+")
_TITLE = re.compile(r"[^*_#:\n]++")


@dataclass(frozen=True)
class Sections:
    """A heading is a line of its own, or the words before a line's colon; case doesn't count."""

    name: str = "sections"
    about: str = "a text with the sections asked for, none of them empty, in their order"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "2"

    async def check(self, subject: Subject) -> Finding:
        """Look for each heading behind the one before it."""
        lines = subject.artifact.splitlines()
        titles = [_title(line) for line in lines]
        wanted = [section.casefold() for section in subject.output.sections]
        found: list[Diagnostic] = []
        place = 0
        for section, name in zip(wanted, subject.output.sections, strict=True):
            if section not in titles:
                found.append(Diagnostic(message=f"the section {name!r} is missing"))
            elif section not in titles[place:]:
                line = titles.index(section) + 1
                found.append(Diagnostic(message=f"the section {name!r} comes too early", line=line))
            else:
                place = titles.index(section, place) + 1
                if not _has_text(lines, titles, place, wanted):
                    found.append(Diagnostic(message=f"the section {name!r} is empty", line=place))
        return fault(Category.FORMAT, *found) if found else Finding(status="passed")


def _title(line: str) -> str:
    """Return a heading's words: marks may stand around them, and behind them a colon or the end."""
    mark = _MARK.match(line)
    title = _TITLE.match(line, mark.end() if mark else 0)
    if title is None:
        return ""
    rest = line[title.end() :].lstrip("*_ \t")
    return title[0].strip().casefold() if not rest or rest.startswith(":") else ""


def _has_text(lines: list[str], titles: list[str], start: int, wanted: list[str]) -> bool:
    """Whether anything stands behind a heading, on its own line or before the next heading."""
    if lines[start - 1].partition(":")[2].strip(" *_"):
        return True
    for line, title in zip(lines[start:], titles[start:], strict=True):
        if title in wanted:
            return False
        if line.strip():
            return True
    return False
