"""Parts that several pages have: bounded texts, links, figures, differences and calls. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from ....result import Exploration, StepResult, ToolCall
from ....text import one_line
from ..explained import run_figures
from ..page import Block, Bullets, Figures, Paragraph, Quoted, Ref, Section, Strong, Table, Text
from ..view import RunView

__all__ = [
    "MOST_STEP_PAGES",
    "SEE_ALSO",
    "bounded_list",
    "bounded_table",
    "call_blocks",
    "calls_sections",
    "changed_lines",
    "figures",
    "joined",
    "quoted",
    "ref",
    "step_page_names",
    "way",
]


MOST_ROWS = 200
MOST_LINES = 50


def quoted(text: str, limit: int, language: str = "", *, whole: int | None = None) -> Quoted:
    """Quote the first characters of a text.

    Args:
        text: What is quoted.
        limit: The most characters.
        language: As in `Quoted`.
        whole: Characters of the whole, where the text is its beginning alone.
    """
    shown = text[:limit]
    return Quoted(shown, language, max(0, (whole or len(text)) - len(shown)))


def bounded_table(header: tuple[str, ...], rows: Sequence[tuple[Text, ...]]) -> Table:
    """Make a table of the first rows, and count the others."""
    return Table(header, tuple(rows[:MOST_ROWS]), more=max(0, len(rows) - MOST_ROWS))


def bounded_list(lines: Sequence[tuple[Text, ...]]) -> Bullets:
    """List the first lines, and count the others."""
    more = len(lines) - MOST_LINES
    shown = tuple(lines[:MOST_LINES])
    return Bullets((*shown, (f"{more:,} more.",)) if more > 0 else shown)


MOST_STEP_PAGES = 500
"""Steps of a run that have a page of their own; `inspect --step` shows any."""

SEE_ALSO = "See also: "
"""How the words begin that lead to the run's other pages."""
_MAIN = ("answer", "plan", "timeline")


def step_page_names(view: RunView) -> frozenset[str]:
    """Return the ids of the steps that have a page: the first ones of a plan that is very long."""
    return frozenset(step.id for step in view.steps[:MOST_STEP_PAGES])


def way(here: str) -> Block:
    """Write where the other pages of the run are."""
    texts = [Ref(name, name.capitalize()) for name in _MAIN if name != here]
    return Paragraph((SEE_ALSO, *joined(texts, ", "), "."))


def ref(step: str, words: str = "") -> Ref:
    """Name a step by its page."""
    return Ref(step, words or step)


def joined(texts: Iterable[Text], between: str) -> tuple[Text, ...]:
    """Put words between texts."""
    parts: list[Text] = []
    for text in texts:
        parts += [between, text] if parts else [text]
    return tuple(parts)


def figures(view: RunView) -> Figures | None:
    """Return the figures of a run; None before any step ran."""
    return run_figures(view.metrics, view.cost) if view.metrics else None


_MOST_CHARS = 60_000
_MOST_LINES = 2_000


def changed_lines(before: str, after: str) -> str:
    """Return a unified diff of two texts, without file names; "" if they are the same.

    Of texts that are very long, the beginnings alone are compared.
    """
    old, new = (text[:_MOST_CHARS].splitlines()[:_MOST_LINES] for text in (before, after))
    found = difflib.unified_diff(old, new, lineterm="", n=2)
    return "\n".join(list(found)[2:])


_COLUMNS = ("Outcome", "Step", "Attempt", "Call", "Took", "Characters", "Arguments", "Result")
_MOST_CALLS = 40
_TEXT_CHARS = 1_200


def calls_sections(
    steps: Sequence[StepResult], explored: Exploration | None = None
) -> list[Section]:
    """Write the part of a run's page on calls of tools; empty if there were none.

    Args:
        steps: The steps of the run.
        explored: What the orchestrator looked at before it planned.
    """
    rows = [_row("plan", "", call) for call in (explored.calls if explored else ())]
    rows += [
        _row(ref(step.id), str(attempt.number), call)
        for step in steps
        for attempt in step.attempts
        for call in attempt.calls
    ]
    return [Section("Calls of tools", [bounded_table(_COLUMNS, rows)])] if rows else []


def call_blocks(calls: Sequence[ToolCall]) -> list[Block]:
    """Write an attempt's calls with their arguments and results, which are cut and masked."""
    blocks: list[Block] = []
    for call in calls[:_MOST_CALLS]:
        took = f" {call.outcome} in {call.seconds:.1f} s, {call.characters:,} characters"
        blocks.append(Paragraph((Strong(f"Call {call.ordinal}: {call.tool}"), took)))
        blocks.append(quoted(call.arguments, _TEXT_CHARS, "json"))
        if call.result:
            blocks.append(quoted(call.result, _TEXT_CHARS, whole=call.characters))
    more = len(calls) - _MOST_CALLS
    return [*blocks, Paragraph((f"{more} more calls.",))] if more > 0 else blocks


def _row(step: Text, attempt: str, call: ToolCall) -> tuple[Text, ...]:
    return (
        call.outcome,
        step,
        attempt,
        call.tool,
        f"{call.seconds:.1f} s",
        f"{call.characters:,}",
        one_line(call.arguments, 100),
        one_line(call.result, 160),
    )
