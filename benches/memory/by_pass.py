"""Outcomes of the steps pass by pass, with a memory and without. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tally import Measured

__all__ = ["by_pass"]


def by_pass(measured: Sequence[Measured]) -> str:
    """Return a Markdown table, a row for each pass and one for all.

    Args:
        measured: With and without by turns, a pass after the other; a last one that stands alone is
            left out.
    """
    lines = [
        "| Pass | right, with a memory | right, without | accepted, with | without "
        "| tokens a success, with | without | attempts a step, with | without |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    pairs = list(zip(measured[::2], measured[1::2], strict=False))
    for number, (advised, none) in enumerate(pairs, 1):
        lines.append(_row(str(number), [advised], [none]))
    if pairs:
        lines.append(_row("all", [advised for advised, _ in pairs], [none for _, none in pairs]))
    return "\n".join(lines)


def _row(name: str, advised: Sequence[Measured], none: Sequence[Measured]) -> str:
    sides = [_cells(advised), _cells(none)]
    cells = [cell for pair in zip(*sides, strict=True) for cell in pair]
    return f"| {name} | {' | '.join(cells)} |"


def _cells(measured: Sequence[Measured]) -> tuple[str, str, str, str]:
    outcomes = [outcome for run in measured for outcome in run.outcomes]
    right = sum(outcome.right for outcome in outcomes)
    tokens = sum(run.tokens for run in measured)
    attempts = sum(outcome.attempts for outcome in outcomes) / max(1, len(outcomes))
    return (
        str(right),
        str(sum(outcome.accepted for outcome in outcomes)),
        f"{tokens / right:,.0f}" if right else "",
        f"{attempts:.2f}",
    )
