"""A success rate over time as lines of a terminal: a mark between its bounds, on one axis. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from ...tasks.report.remembered.record import Period

__all__ = ["LEGEND", "plot_lines"]

LEGEND = "● expected success, ├─┤ its sure bounds, after these attempts"
_MARGIN, _LEAST, _MOST = 34, 20, 60


def plot_lines(found: Sequence[Period], width: int, zone: tzinfo | None = None) -> list[str]:
    """Draw periods, a line each, below an axis from 0 to 100 %; every sign is one column wide.

    Args:
        found: The periods, oldest first.
        width: Columns that there are.
        zone: Whose times are shown; the machine's if None.
    """
    columns = min(_MOST, max(_LEAST, width - _MARGIN))
    axis = "0%".ljust(columns // 2 - 1) + "50%".ljust(columns - columns // 2 - 3) + "100%"
    lines = [f"{'':16}  {axis}"]
    for period in found:
        when = f"{datetime.fromtimestamp(period.until, zone):%Y-%m-%d %H:%M}"
        counts = f"{period.succeeded:,} of {period.attempts:,}"
        lines.append(f"{when}  {_line(period, columns)}  {counts}")
    return lines


def _line(period: Period, columns: int) -> str:
    low, mean, high = (
        min(columns - 1, int(rate * columns))
        for rate in (period.expected.low, period.expected.mean, period.expected.high)
    )
    signs = ["·"] * columns
    signs[low : high + 1] = "─" * (high + 1 - low)
    signs[low], signs[high], signs[mean] = "├", "┤", "●"
    return "".join(signs)
