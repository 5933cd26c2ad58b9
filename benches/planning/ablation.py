"""Ablation of the repair rules: changes in the plans where one of them is left out.

    python benches/planning/ablation.py [--set third --set heldout …] [--texts FILE.json]

The embedded model's texts are drawn once an objective, and read, repaired, scored, chosen among and
graded again for each rule. What a rule is worth is told by the plans that are right with all rules
and wrong without it, and the other way round: by chance it is as often the one as the other, which
an exact sign test (McNemar's) asks. The first set decides which rules go.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from drawing import Drawing
from grade import Grade, edge_f1, grade
from heldout import SETS, Wanted, load_heldout
from prefect_swarm.errors import PlanError, SwarmError
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.tasks.planner.line_format import RULES, Rule, read_lines, repair_by
from prefect_swarm.tasks.planner.plan_score import AGREED, PlanCandidate, score, select_plan
from prefect_swarm.tasks.planner.planners import THRESHOLD

__all__ = ["Difference", "Graded", "chosen", "difference", "graded", "sign_test", "table"]

CHANCE = 0.05
"""A difference that chance alone makes no more often than this is taken for one."""


@dataclass(frozen=True)
class Graded:
    """The plan that is chosen for an objective, if any can be read, and its grade."""

    plan: TaskIR | None
    grade: Grade


@dataclass(frozen=True)
class Difference:
    """What some rules change in the plans of a set.

    Attributes:
        changed: Plans that aren't the same.
        p_values: Of the sign tests on the counts of exact, faithful and serial plans.
    """

    changed: int
    p_values: tuple[float, float, float]

    @property
    def is_chance(self) -> bool:
        """Whether no count differs by more than chance makes of it."""
        return min(self.p_values) > CHANCE


def graded(wanted: Sequence[Wanted], drawing: Drawing, rules: Sequence[Rule]) -> list[Graded]:
    """Choose the plan of each objective as the planner does, repaired by some rules; grade it."""
    plans = [chosen(expected.objective, drawing, rules) for expected in wanted]
    return [
        Graded(plan, grade(plan, expected)) for plan, expected in zip(plans, wanted, strict=True)
    ]


def chosen(objective: str, drawing: Drawing, rules: Sequence[Rule]) -> TaskIR | None:
    """Return the plan that is chosen for an objective; None where none can be read."""
    first = _candidate(drawing.first(objective), objective, rules)
    if first.score is not None and first.score.value >= THRESHOLD:
        return first.plan
    candidates = [_candidate(text, objective, rules) for text in drawing.every(objective)]
    choice = select_plan(candidates, AGREED)
    return choice.plan if choice else None


def _candidate(text: str, objective: str, rules: Sequence[Rule]) -> PlanCandidate:
    try:
        plan, notes = repair_by(rules, read_lines(text, objective))
    except PlanError as error:
        return PlanCandidate(text, error=str(error))
    return PlanCandidate(text, plan, score(plan, objective), notes)


def difference(every: Sequence[Graded], fewer: Sequence[Graded]) -> Difference:
    """Compare the plans of a set, repaired by all rules, with those repaired by fewer."""
    pairs = [*zip(every, fewer, strict=True)]
    counts = [
        [(a.grade.exact, b.grade.exact) for a, b in pairs],
        [(a.grade.faithful, b.grade.faithful) for a, b in pairs],
        [(bool(a.grade.serial), bool(b.grade.serial)) for a, b in pairs],
    ]
    exact, faithful, serial = (
        sign_test(found.count((True, False)), found.count((False, True))) for found in counts
    )
    changed = sum(a.plan != b.plan for a, b in pairs)
    return Difference(changed, (exact, faithful, serial))


def sign_test(lost: int, won: int) -> float:
    """Return how often chance alone is at least as one-sided, either way."""
    pairs = lost + won
    tail = sum(comb(pairs, count) for count in range(min(lost, won) + 1))
    return min(1.0, 2 * tail / 2**pairs)


def table(sets: Sequence[str], drawing: Drawing) -> str:
    """Return a markdown table, a row for each rule that is left out, and one for the last step:
    without all those whose absence is chance.
    """
    wanted = {name: load_heldout(SETS[name]) for name in sets}
    every = {name: graded(wanted[name], drawing, RULES) for name in sets}
    columns = "".join(f" `{name}` | changed | p |" for name in sets)
    lines = [f"| Left out |{columns}", f"|---|{'---|--:|---|' * len(sets)}"]
    lines.append(_row("no rule", [(every[name], None) for name in sets]))
    chance: list[Rule] = []
    for rule in RULES:
        others = [other for other in RULES if other is not rule]
        differences = _differences(wanted, drawing, every, others)
        lines.append(_row(_name(rule), differences))
        if not differences[0][1].is_chance:
            chance.append(rule)
    lines.append(_row("all whose lack is chance", _differences(wanted, drawing, every, chance)))
    return "\n".join(lines)


def _differences(
    wanted: dict[str, list[Wanted]],
    drawing: Drawing,
    every: dict[str, list[Graded]],
    rules: Sequence[Rule],
) -> list[tuple[list[Graded], Difference]]:
    found = {name: graded(wanted[name], drawing, rules) for name in wanted}
    return [(found[name], difference(every[name], found[name])) for name in wanted]


def _row(name: str, cells: Sequence[tuple[Sequence[Graded], Difference | None]]) -> str:
    row = f"| {name} |"
    for results, found in cells:
        grades = [result.grade for result in results]
        exact, faithful = sum(each.exact for each in grades), sum(each.faithful for each in grades)
        serial = sum(bool(each.serial) for each in grades)
        row += f" {exact}, {edge_f1(grades):.3f}, {faithful}, {serial} |"
        row += f" {found.changed} | {_p_values(found)} |" if found else "  |  |"
    return row


def _p_values(found: Difference) -> str:
    return ", ".join(f"{value:.2g}" for value in found.p_values)


def _name(rule: Rule) -> str:
    return f"`{getattr(rule, '__name__', rule)}`"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", choices=SETS, help="third alone if left out")
    parser.add_argument(
        "--texts",
        type=Path,
        default=Path(tempfile.gettempdir()) / "planning-texts.json",
        help="the file that keeps what was drawn; %(default)s if left out",
    )
    args = parser.parse_args()
    print(table(args.set or ["third"], Drawing(args.texts)))


if __name__ == "__main__":
    try:
        main()
    except SwarmError as error:
        sys.exit(str(error))
    finally:
        close_engines()
