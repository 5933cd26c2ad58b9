"""Maximum-weight assignment of rows to columns: the Hungarian method, exact in O(n³).

Fourteen steps have 87 thousand million pairings, too many to try them all. The method's prices also
show which pairs occur in some best pairing, so that the caller can choose among equally good ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Pairing", "assign"]

_INFINITY: int = 1 << 60


@dataclass(frozen=True)
class Pairing:
    """A best pairing: an assignment of maximum weight.

    Attributes:
        pairs: Row to column; pairs that weigh nothing are left out.
        tight: For each row, the columns that it has in some best pairing, without those that weigh
            nothing. With as many rows as columns, every choice of one of them for each row, no
            column twice, is a best pairing.
    """

    pairs: dict[int, int]
    tight: tuple[frozenset[int], ...]


def assign(weights: Sequence[Sequence[int]]) -> Pairing:
    """Pair each row with at most one column and each column with at most one row.

    Args:
        weights: Weight of each pair, 0 or more; all rows have the same length.
    """
    rows, columns = len(weights), max((len(row) for row in weights), default=0)
    size = max(rows, columns)
    costs = [
        [-weights[r][c] if r < rows and c < columns else 0 for c in range(size)]
        for r in range(size)
    ]
    prices = _Prices(costs)
    for row in range(size):
        prices.enter(row)
    pairs = {row: column for column, row in enumerate(prices.holder) if row < rows}
    return Pairing(
        {row: column for row, column in sorted(pairs.items()) if costs[row][column] < 0},
        tuple(
            frozenset(c for c in range(size) if costs[r][c] < 0 and prices.slack(r, c) == 0)
            for r in range(rows)
        ),
    )


class _Prices:
    """The method's state: a price for each row and column, and the row that holds each column."""

    def __init__(self, costs: list[list[int]]) -> None:
        self._costs = costs
        self._rows = [0] * len(costs)
        self._columns = [0] * len(costs)
        self.holder = [len(costs)] * len(costs)  # len(costs): no row yet

    def slack(self, row: int, column: int) -> int:
        return self._costs[row][column] - self._rows[row] - self._columns[column]

    def enter(self, row: int) -> None:
        """Give a row its column, moving others along the cheapest path to a free one."""
        size = len(self._costs)
        least: list[int] = [_INFINITY] * size  # the slack at which a column is reached
        before = [-1] * size  # the column from whose holder it is reached
        reached: list[int] = []
        column = -1
        while column < 0 or self.holder[column] < size:
            if column >= 0:
                reached.append(column)
            asking_row = self.holder[column] if column >= 0 else row
            column = self._next_column(asking_row, column, reached, least, before)
            gap = least[column]
            self._rows[row] += gap
            for other in reached:
                self._rows[self.holder[other]] += gap
                self._columns[other] -= gap
            least = [reached_at - gap for reached_at in least]
        while column >= 0:
            previous = before[column]
            self.holder[column] = self.holder[previous] if previous >= 0 else row
            column = previous

    def _next_column(
        self, asking_row: int, via: int, reached: list[int], least: list[int], before: list[int]
    ) -> int:
        free = [column for column in range(len(self._costs)) if column not in reached]
        for column in free:
            slack = self.slack(asking_row, column)
            if slack < least[column]:
                least[column], before[column] = slack, via
        return min(free, key=lambda column: least[column])
