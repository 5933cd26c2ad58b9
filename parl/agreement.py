"""Agreement of a plan with the wanted plan, and its reward in training. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import PlanError
from ..plan.task_ir import Step, TaskIR
from ..tasks.planner.line_format import read_lines, repair_plan
from ..tasks.planner.plan_score import words

__all__ = ["GRAPH_REWARD", "Agreement", "Pairing", "agreement", "assign", "reward"]


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


_SCALE = 1000
"""`assign` takes whole numbers: word overlap is counted in thousandths."""


@dataclass(frozen=True)
class Agreement:
    """How well a plan matches the wanted plan.

    Attributes:
        readable: There is a plan.
        exact: It has the wanted steps and edges, and each step has half of the wanted words.
        matched_edges: Edges of the plan that are wanted.
        plan_edges: All edges of the plan.
        wanted_edges: All edges of the wanted plan.
        faithful: Recall of the wanted steps' words in the steps paired with them, 0..1.
        word_f1: F1 of the same words, so that words added to a step count too.
    """

    readable: bool
    exact: bool
    matched_edges: int
    plan_edges: int
    wanted_edges: int
    faithful: float
    word_f1: float


def agreement(plan: TaskIR | None, wanted: TaskIR) -> Agreement:
    """Pair the steps by their words; compare their words and dependencies."""
    wanted_needs = _needs(wanted.steps)
    wanted_edges = sum(map(len, wanted_needs))
    if plan is None:
        return Agreement(False, False, 0, 0, wanted_edges, 0.0, 0.0)
    plan_needs = _needs(plan.steps)
    wanted_words = [words(step.prompt) for step in wanted.steps]
    plan_words = [words(step.prompt) for step in plan.steps]
    similarities = [[_similarity(left, right) for right in plan_words] for left in wanted_words]
    pairs = assign(similarities).pairs
    matched_edges = sum(
        pairs[need] in plan_needs[pairs[step]]
        for step, upstream in enumerate(wanted_needs)
        for need in upstream
        if step in pairs and need in pairs
    )
    plan_edges = sum(map(len, plan_needs))
    shared_counts = [
        len(step_words & plan_words[pairs[step]]) if step in pairs else 0
        for step, step_words in enumerate(wanted_words)
    ]
    exact = (
        len(plan_needs) == len(wanted_needs)
        and matched_edges == wanted_edges == plan_edges
        and all(
            2 * count >= len(step_words)
            for count, step_words in zip(shared_counts, wanted_words, strict=True)
        )
    )
    wanted_total, plan_total = sum(map(len, wanted_words)), sum(map(len, plan_words))
    faithful = sum(shared_counts) / max(1, wanted_total)
    word_f1 = 2 * sum(shared_counts) / max(1, wanted_total + plan_total)
    return Agreement(True, exact, matched_edges, plan_edges, wanted_edges, faithful, word_f1)


def _needs(steps: Sequence[Step]) -> list[frozenset[int]]:
    places = {step.id: place for place, step in enumerate(steps)}
    return [frozenset(places[need] for need in step.depends_on) for step in steps]


def _similarity(left: frozenset[str], right: frozenset[str]) -> int:
    return _SCALE * len(left & right) // max(1, len(left | right))


GRAPH_REWARD = 0.4
"""Reward for the wanted graph; a plan with another graph never gets more."""

_WORD_REWARD, _FAITHFUL_REWARD = 0.4, 0.2


def reward(text: str, objective: str, wanted: TaskIR) -> float:
    """Return 0..1: 0.4 for the wanted graph, 0.4 · F1 of words, 0.2 for all words in that graph.

    The plan is repaired first, as in production: the model needn't learn what a repair corrects.
    Words count by F1, or a step that repeats the whole objective would have them all.

    Args:
        text: Numbered lines; a text that can't be read has reward 0.
    """
    try:
        plan = repair_plan(read_lines(text, objective)).plan
    except PlanError:
        return 0.0
    found = agreement(plan, wanted)
    has_all_words = found.exact and found.faithful == 1
    word_reward = _WORD_REWARD * found.word_f1
    return GRAPH_REWARD * found.exact + word_reward + _FAITHFUL_REWARD * has_all_words
