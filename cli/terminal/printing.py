"""Standard output of commands: tables, a run's report, JSON."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Any

from pydantic import BaseModel
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ...plan.output import is_patch
from ...report.attempts_page import SEE_ALSO
from ...report.lines import LEGEND, timeline
from ...report.page import (
    Block,
    Bullets,
    Drawing,
    Figures,
    Page,
    Paragraph,
    Quoted,
    RunView,
    Section,
    StepPicture,
    Table,
    words_of,
)
from ...store.event_log import to_line
from ...store.event_wording import TURN_CAUSES, part_words, turn_words, undone_words
from ...store.events import (
    AnsweredEvent,
    AskedEvent,
    BeganEvent,
    CutEvent,
    DecisionEvent,
    DirectingEvent,
    EndedEvent,
    ExpandedEvent,
    ExploringEvent,
    FinishedEvent,
    GateEvent,
    MessageEvent,
    PartEvent,
    PlannedEvent,
    PlanningEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    ToolEvent,
    TurnEvent,
    UndoneEvent,
    WaitEvent,
)
from ...text import dollars, escaped, one_line, plural, visible
from ..process import can_write

__all__ = [
    "console",
    "drawable",
    "event_line",
    "print_artifact",
    "print_events",
    "print_json",
    "print_page",
    "print_patch",
    "print_section",
    "print_sections",
    "print_table",
    "print_text",
    "table_lines",
]


_GAP = "  "
_LEAST = 16  # characters of the last column, however narrow the terminal


def table_lines(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int,
    right: frozenset[str] = frozenset(),
) -> list[str]:
    """Lay out a table: its header, a rule, and a line for each row.

    Args:
        header: The columns' names.
        rows: Texts; each is made one line.
        width: Characters there are in a line.
        right: Columns that are aligned to the right.
    """
    cells = [[one_line(cell, 1000) for cell in row] for row in (header, *rows)]
    widths = [max(cell_len(row[column]) for row in cells) for column in range(len(header))]
    others = sum(widths[:-1]) + len(_GAP) * (len(header) - 1)
    widths[-1] = min(widths[-1], max(_LEAST, width - others))
    aligned = [name in right for name in header]
    lines = [_line(row, widths, aligned) for row in cells]
    return [lines[0], "─" * min(width, others + widths[-1]), *lines[1:]]


def _line(cells: Sequence[str], widths: Sequence[int], aligned: Sequence[bool]) -> str:
    fitted = [
        " " * max(0, width - cell_len(cell)) + cell if is_right else _fit(cell, width)
        for cell, width, is_right in zip(cells, widths, aligned, strict=True)
    ]
    return _GAP.join(fitted).rstrip()


def _fit(cell: str, width: int) -> str:
    return cell if cell_len(cell) == width else _cut(cell, width)


def _cut(cell: str, width: int) -> str:
    if cell_len(cell) < width:
        return set_cell_size(cell, width)
    return set_cell_size(cell, width - 1).rstrip() + "…"


_PIPED_COLUMNS = 120


def console() -> Console:
    """Return a console on standard output as it is now; pipes get a fixed, wider line."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(
        file=sys.stdout,
        highlight=False,
        markup=False,
        emoji=False,
        width=_PIPED_COLUMNS if piped else None,
    )


def print_json(content: BaseModel | dict[str, Any]) -> None:
    """Print one JSON document."""
    text = (
        content.model_dump_json(indent=2)
        if isinstance(content, BaseModel)
        else json.dumps(content, indent=2, ensure_ascii=False)
    )
    print(escaped(text))  # noqa: T201 - the command's own output


def print_text(text: str) -> None:
    """Print a text that someone else wrote, with what is hidden in it as escapes.

    A terminal gets it wrapped between words, a pipe in its own lines.
    """
    if sys.stdout.isatty():
        console().print(Text(visible(text)))
    else:
        print(visible(text))  # noqa: T201 - the command's own output


def print_artifact(text: str, *, is_markdown: bool = False) -> None:
    """Print what a run made: a person at a terminal reads it, a pipe or a file gets it as it is."""
    if not sys.stdout.isatty():
        print(text)  # noqa: T201 - the command's own output
    elif is_markdown:
        print_markdown(text)
    elif is_patch(text):
        print_patch(text.strip())
    else:
        print_text(text.strip())


def print_markdown(text: str) -> None:
    """Print Markdown that someone else wrote: drawn on a terminal, else in its own lines.

    What is hidden in it is shown as escapes. Links and images show where they lead, and HTML is
    text.
    """
    if sys.stdout.isatty():
        from .markdown import drawn

        console().print(drawn(visible(text).strip()))
    else:
        print_text(text)


_PATCH_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def print_patch(text: str) -> None:
    """Print a patch that someone else wrote, a terminal's in colours, with what is hidden in it."""
    if not sys.stdout.isatty():
        print_text(text)
        return
    out = console()
    for line in visible(text).removesuffix("\n").split("\n"):
        style = "bold" if line.startswith(("+++ ", "--- ")) else _PATCH_STYLES.get(line[:1], "")
        out.print(Text(line, style=style))


def drawable(line: str) -> str:
    """Return a line of a drawing in characters that standard output has."""
    return line if can_write(_BARS, sys.stdout) else line.translate(_PLAIN_BARS)


_BARS = "█░▒"
_PLAIN_BARS = str.maketrans(_BARS, "#.x")


def print_section(title: str, lines: Iterable[str] = ()) -> None:
    """Print a heading and lines that must not be wrapped."""
    out = console()
    out.print()
    out.print(Text(_in_line(title), style="bold"))
    for line in lines:
        out.print(Text(_in_line(line)), no_wrap=True, overflow="ellipsis", crop=True)


def _in_line(text: str) -> str:
    return visible(text).replace("\n", " ")


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: frozenset[str] = frozenset()
) -> None:
    """Print a table as wide as the terminal."""
    out = console()
    head, rule, *lines = table_lines(header, rows, out.width, right)
    if not can_write(rule, sys.stdout):
        rule = "-" * len(rule)
    for line in (head, rule, *lines):
        out.print(Text(line), no_wrap=True, crop=False)


_CHARS = 300


def event_line(event: RunEvent, began_at: float) -> str:
    """Write an event: its number, seconds since `began_at`, what it is about, and what it is."""
    attempt = f" · attempt {event.attempt}" if event.attempt else ""
    head = f"{event.number:>6}  {event.at - began_at:8.1f} s  {event.step or 'run'}{attempt}"
    words = one_line(_words(event), _CHARS)
    return f"{head}: {event.kind}{f' · {words}' if words else ''}"


def _words(event: RunEvent) -> str:
    match event:
        case TextEvent():
            return event.text
        case WaitEvent():
            return event.words
        case StartedEvent():
            return event.tier
        case GateEvent():
            return f"{event.gate} {event.status}{f': {event.found}' if event.found else ''}"
        case ToolEvent():
            return _call(event)
        case DecisionEvent():
            return f"{event.action}: {event.reason}"
        case EndedEvent():
            return event.reason
        case AskedEvent():
            return event.title
        case AnsweredEvent():
            return f"{event.question} {event.verdict}{f': {event.why}' if event.why else ''}"
        case _:
            return _words_of_run(event)


def _call(event: ToolEvent) -> str:
    call = f"{event.ordinal}. {event.tool}({event.arguments})"
    if event.outcome == "started":
        return call
    took = f" after {event.seconds:.1f} s" if event.seconds else ""
    return f"{call} {event.outcome}{took}: {event.result}"


def _words_of_run(event: RunEvent) -> str:
    match event:
        case BeganEvent():
            return "once more" if event.resumed else ""
        case ExpandedEvent():
            members = plural(len(event.steps), "member")
            return f"{members} ({event.note})" if event.note else members
        case PartEvent():
            return part_words(event)
        case UndoneEvent():
            return undone_words(event)
        case PlannedEvent():
            lasting = f". {event.irreversible}" if event.irreversible else ""
            return f"{plural(len(event.steps), 'step')}{lasting}"
        case SpentEvent():
            return f"{plural(event.tokens, 'token')} so far{_money(event.cost_usd)}"
        case FinishedEvent():
            return f"{event.status}{f': {event.problem}' if event.problem else ''}"
        case CutEvent():
            return "texts are left out from here" if event.what == "text" else "left out from here"
        case _:
            return _words_of_orchestrator(event)


def _words_of_orchestrator(event: RunEvent) -> str:
    match event:
        case ExploringEvent():
            return f"{event.model}, at most {plural(event.calls, 'call')}"
        case PlanningEvent():
            return event.model
        case DirectingEvent():
            return f"{event.number_of_turn}: {TURN_CAUSES.get(event.cause, event.cause)}"
        case TurnEvent():
            return f"{event.number_of_turn}: {turn_words(event)}"
        case MessageEvent():
            return f"{event.message}: {event.text}"
        case _:
            return ""


def _money(usd: float | None) -> str:
    return "" if usd is None else f", {dollars(usd)}"


def print_events(
    events: Callable[[], AsyncGenerator[RunEvent]], *, began_at: float | None, as_json: bool
) -> None:
    """Print events as they come.

    Args:
        events: Begins to read them.
        began_at: When the run began, in seconds since the epoch; None if nobody knows.
        as_json: Print them as they are kept, a line of JSON each.
    """
    asyncio.run(_print_each(events(), began_at, as_json=as_json))


async def _print_each(
    events: AsyncGenerator[RunEvent], began_at: float | None, *, as_json: bool
) -> None:
    async for event in events:
        began_at = event.at if began_at is None else began_at
        line = escaped(to_line(event)) if as_json else visible(event_line(event, began_at))
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


_RIGHT = frozenset(
    {"Tries", "Work", "Tokens", "Took", "Characters", "Start", "Waited", "Slack", "Value"}
)


def print_page(page: Page, view: RunView) -> None:
    """Print a page, all its sections open.

    Args:
        page: What it says.
        view: What it was made from, for what is drawn.
    """
    print_section(page.title)
    for block in page.lead:
        if not isinstance(block, Paragraph) or block.texts[:1] != (SEE_ALSO,):
            _print_block(block, view)
    print_sections(page.sections, view)


def print_sections(sections: Sequence[Section], view: RunView) -> None:
    """Print sections; what can't be drawn on a terminal is left out."""
    for section in sections:
        blocks = [block for block in section.blocks if _is_shown(block, view)]
        if not blocks:
            continue
        has_drawing = any(isinstance(block, Drawing) for block in blocks)
        print_section(drawable(f"{section.title}   {LEGEND}") if has_drawing else section.title)
        for block in blocks:
            _print_block(block, view)


def _print_block(block: Block, view: RunView) -> None:
    match block:
        case Paragraph(texts):
            print_text(words_of(texts))
        case Bullets(lines):
            for texts in lines:
                print_text(words_of(texts))
        case Table():
            _print_table(block)
        case Figures(figures):
            rows = [(each.name, each.value, each.meaning) for each in figures]
            print_table(("Figure", "Value", "Meaning"), rows, right=_RIGHT)
        case Quoted():
            _print_quoted(block)
        case Drawing():
            for line in _chart(view):
                print_text(drawable(line))
        case StepPicture():
            print_text(block.says)


def _print_quoted(block: Quoted) -> None:
    if block.language == "markdown":
        print_markdown(block.text)
    elif block.language == "diff":
        print_patch(block.text)
    else:
        print_text(block.text)
    if block.left_out:
        print_text(f"[{block.left_out:,} more characters]")


def _print_table(block: Table) -> None:
    if block.rows:
        rows = [[words_of((cell,)) for cell in row] for row in block.rows]
        print_table(block.header, rows, right=_RIGHT)
    if block.more:
        print_text(f"{block.more:,} more.")


def _is_shown(block: Block, view: RunView) -> bool:
    return not isinstance(block, Drawing) or (block.kind == "timeline" and bool(_chart(view)))


def _chart(view: RunView) -> list[str]:
    return timeline([step.state for step in view.steps], console().width, view.origin)
