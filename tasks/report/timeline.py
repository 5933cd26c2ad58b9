"""The timeline of a run as bars of text: who worked when, and what the run waited for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...result import Attempt, StepResult
from ...text import duration, one_line

__all__ = ["LEGEND", "Bar", "bars", "timeline"]

_WORK, _WAIT, _FAILED = "█", "░", "▒"
LEGEND = f"{_WORK} working  {_WAIT} waiting for the model  {_FAILED} failed  * critical path"
_NAME = 26


@dataclass(frozen=True, slots=True)
class Bar:
    """One attempt; times are seconds since the first one's start."""

    step: str
    agent: str
    number: int
    start_s: float
    turn_s: float
    end_s: float
    failed: bool
    critical: bool
    slack_s: float | None

    def drawn(self, width: int, total_s: float) -> str:
        """Draw it on a line of `width` characters that stands for `total_s` seconds."""
        scale = width / total_s if total_s > 0 else 0.0
        start = min(int(self.start_s * scale), width - 1)
        turn = min(max(start, int(self.turn_s * scale)), width - 1)
        end = min(max(turn + 1, round(self.end_s * scale)), width)
        work = (_FAILED if self.failed else _WORK) * (end - turn)
        return f"{' ' * start}{_WAIT * (turn - start)}{work}".ljust(width)


def bars(steps: Sequence[StepResult]) -> list[Bar]:
    """Return a bar for each attempt, steps in the plan's order."""
    tries = [(step, attempt) for step in steps for attempt in step.attempts]
    origin = min((attempt.started_at for _, attempt in tries), default=0.0)
    return [_bar(step, attempt, origin) for step, attempt in tries]


def timeline(steps: Sequence[StepResult], width: int, *, figures: bool = True) -> list[str]:
    """Draw the attempts, a line each, in `width` characters; empty if nothing ran."""
    drawn = bars(steps)
    total_s = max((bar.end_s for bar in drawn), default=0.0)
    room = max(10, width - _NAME - (36 if figures else 3))
    lines = [f"{_label(bar)} |{bar.drawn(room, total_s)}|" for bar in drawn]
    if not figures:
        return lines
    return [f"{line} {_figures(bar)}" for line, bar in zip(lines, drawn, strict=True)]


def _bar(step: StepResult, attempt: Attempt, origin: float) -> Bar:
    return Bar(
        step=step.id,
        agent=attempt.agent or step.agent,
        number=attempt.number,
        start_s=attempt.started_at - origin,
        turn_s=min(attempt.started_at + attempt.queue_s, attempt.ended_at) - origin,
        end_s=attempt.ended_at - origin,
        failed=attempt.category is not None,
        critical=step.critical,
        slack_s=step.slack_s,
    )


def _label(bar: Bar) -> str:
    again = f" #{bar.number}" if bar.number > 1 else ""
    name = one_line(f"{bar.step} {bar.agent}", _NAME - 2 - len(again)) + again
    return f"{'*' if bar.critical else ' '} {name}".ljust(_NAME)


def _figures(bar: Bar) -> str:
    span = f"{bar.start_s:.1f} to {bar.end_s:.1f} s"
    if bar.critical or bar.slack_s is None:
        return span
    return f"{span}, slack {duration(bar.slack_s)}"
