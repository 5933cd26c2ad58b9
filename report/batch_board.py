"""How far a batch is: as words for a terminal, and as a page. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..text import dollars, duration, one_line, plural
from .page import Block, Page, Paragraph, Section, Strong, Text, WebLink, bounded_table

__all__ = ["LINE_STATUSES", "BatchBoard", "LineStatus", "LineView", "batch_page", "batch_words"]


LineStatus = Literal["running", "completed", "partial", "failed", "passed over"]
LINE_STATUSES: tuple[LineStatus, ...] = ("running", "completed", "partial", "failed", "passed over")
_MOST_ROWS = 100
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class LineView:
    """A line that has begun.

    Attributes:
        number: The line of the file, from 1.
        status: How it is.
        began_at: When it began here, in seconds of the epoch.
        run: Its run's short id; "" where it has none.
        url: Where the Prefect UI shows its flow run; "" where that isn't known.
        why: What went wrong; "" if nothing did.
        tokens: What its run read and wrote.
        usd: What its run cost; None where no price is known.
    """

    number: int
    status: LineStatus
    began_at: float = 0.0
    run: str = ""
    url: str = ""
    why: str = ""
    tokens: int = 0
    usd: float | None = None


@dataclass(slots=True)
class BatchBoard:
    """The lines of a batch while it goes on.

    Attributes:
        total: Lines that hold anything.
        lines: Those that have begun, by their numbers.
    """

    total: int
    lines: dict[int, LineView] = field(default_factory=dict[int, LineView])

    @property
    def counts(self) -> Mapping[LineStatus, int]:
        """How many lines have each status, without those that have none."""
        found = Counter(line.status for line in self.lines.values())
        return {status: found[status] for status in LINE_STATUSES if found[status]}

    @property
    def left(self) -> int:
        """Lines that have not ended."""
        return self.total - sum(line.status != "running" for line in self.lines.values())

    def seconds_left(self, now: float) -> float | None:
        """Seconds that the rest takes, as the lines before did; None while none has ended here."""
        here = [line for line in self.lines.values() if line.status != "passed over"]
        done = sum(line.status != "running" for line in here)
        if not done or not (left := self.left):
            return None
        return (now - min(line.began_at for line in here)) / done * left


def batch_words(board: BatchBoard, now: float) -> str:
    """Say in a line how far a batch is.

    Args:
        board: The batch.
        now: The time, in seconds of the epoch.
    """
    counted = ", ".join(f"{n:,} {status}" for status, n in board.counts.items())
    ended = board.total - board.left
    words = f"{ended:,} of {plural(board.total, 'line')}{f': {counted}' if counted else ''}"
    if (seconds := board.seconds_left(now)) is not None:
        words = f"{words}; about {duration(seconds)} left"
    return words


def batch_page(board: BatchBoard, now: float, title: str) -> Page:
    """Return the page of a batch.

    Args:
        board: The batch.
        now: The time, in seconds of the epoch.
        title: What it is called.
    """
    lines = [*board.lines.values()]
    tokens = sum(line.tokens for line in lines)
    priced = [line.usd for line in lines if line.usd is not None]
    spent = f"{tokens:,} tokens{f', {dollars(sum(priced))}' if priced else ''} so far."
    lead: list[Block] = [Paragraph((Strong(f"{batch_words(board, now)}."),))]
    if tokens:
        lead.append(Paragraph((spent,)))
    sections = (
        Section("Running", _rows([line for line in lines if line.status == "running"], now)),
        Section("Not completed", _troubles(lines)),
        Section("Ended", _rows([line for line in lines if line.status == "completed"][::-1], now)),
    )
    return Page("batch", title, lead, [section for section in sections if section.blocks])


def _rows(lines: list[LineView], now: float) -> list[Block]:
    if not lines:
        return []
    rows = [
        (
            f"{line.number:,}",
            _link(line),
            f"{line.tokens:,}" if line.tokens else "",
            duration(now - line.began_at) if line.status == "running" else "",
        )
        for line in lines
    ]
    return [bounded_table(("Line", "Run", "Tokens", "Since"), rows, _MOST_ROWS)]


def _troubles(lines: list[LineView]) -> list[Block]:
    numbered = sorted(lines, key=lambda line: line.number)
    found = [line for line in numbered if line.status in ("partial", "failed")]
    if not found:
        return []
    rows: list[tuple[Text, ...]] = [
        (f"{line.number:,}", line.status, _link(line), one_line(line.why, _SHOWN)) for line in found
    ]
    again = "To try these again, start the batch again with the same output."
    header = ("Line", "Status", "Run", "What went wrong")
    return [bounded_table(header, rows, _MOST_ROWS), Paragraph((again,))]


def _link(line: LineView) -> Text:
    return WebLink(line.url, line.run) if line.url else line.run
