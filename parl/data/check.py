"""Check patterns by drawing examples from them, and summarise the results in a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from .expand import Expansion, MisfitError, draw, seeded_random
from .pattern import Pattern

__all__ = ["PatternFinding", "check_pattern", "depth", "table", "width"]

DRAWS = 30
"""Examples that the check draws from a pattern."""


@dataclass(frozen=True, slots=True)
class PatternFinding:
    """Result of a pattern's check: errors, notes, and the examples that fit the limits."""

    pattern: Pattern
    errors: tuple[str, ...]
    notes: tuple[str, ...]
    expansions: tuple[Expansion, ...]


def check_pattern(pattern: Pattern, draws: int = DRAWS) -> PatternFinding:
    """Draw a pattern with fixed seeds and report what is wrong with it."""
    expansions: list[Expansion] = []
    misfits: list[str] = []
    for seed in range(draws):
        try:
            expansions.append(draw(pattern, seeded_random(seed)))
        except MisfitError as misfit:
            misfits.append(str(misfit))
    errors = list(_invented_variables(pattern, expansions))
    notes: list[str] = []
    if misfits:
        reason, _ = Counter(misfits).most_common(1)[0]
        problem = f"{len(misfits)} of {draws} draws don't fit, as {reason}"
        (errors if 2 * len(misfits) > draws else notes).append(problem)
    if len(pattern.asks) < 5:
        notes.append(f"only {len(pattern.asks)} asks")
    notes += _unused_variables(pattern, expansions)
    return PatternFinding(pattern, tuple(errors), tuple(notes), tuple(expansions))


def _invented_variables(pattern: Pattern, expansions: Iterable[Expansion]) -> Iterator[str]:
    """Yield a message for each variable that a plan uses and its objective lacks."""
    invented: set[str] = set()
    for expansion in expansions:
        for name in expansion.plan_variables - expansion.objective_variables:
            variable = pattern.variables[name]
            if not variable.inline:
                invented.add(name)
    for name in sorted(invented):
        yield f"the plan says {{{name}}}, which some ask leaves out"


def _unused_variables(pattern: Pattern, expansions: Sequence[Expansion]) -> Iterator[str]:
    unused: set[str] = set()
    for expansion in expansions:
        unused |= expansion.objective_variables - expansion.plan_variables
    # A plan may leave out a verb or a list's length, but no words drawn from a list.
    for name in sorted(unused):
        if not pattern.variables[name].inline:
            yield f"an ask says {{{name}}}, which its plan leaves out"


def depth(needs: Sequence[Sequence[int]]) -> int:
    """Return the number of steps in the longest chain."""
    return max(_levels(needs), default=0)


def width(needs: Sequence[Sequence[int]]) -> int:
    """Return the largest number of steps on one level."""
    return max(Counter(_levels(needs)).values(), default=0)


def _levels(needs: Sequence[Sequence[int]]) -> list[int]:
    levels: list[int] = []
    for needed in needs:
        levels.append(1 + max((levels[index] for index in needed), default=0))
    return levels


def table(findings: Iterable[PatternFinding]) -> Iterator[str]:
    """Yield a line for each kind: blocks, asks, mean steps, width and depth."""
    kinds: dict[str, list[PatternFinding]] = {}
    for finding in findings:
        kinds.setdefault(finding.pattern.kind, []).append(finding)
    yield f"{'kind':<32}{'blocks':>8}{'asks':>8}{'steps':>8}{'width':>8}{'depth':>8}"
    for kind in sorted(kinds):
        plans = [
            expansion.needs for finding in kinds[kind] for expansion in finding.expansions
        ] or [()]
        asks = sum(len(finding.pattern.asks) for finding in kinds[kind])
        means = (mean(map(len, plans)), mean(map(width, plans)), mean(map(depth, plans)))
        figures = "".join(f"{figure:8.1f}" for figure in means)
        yield f"{kind:<32}{len(kinds[kind]):>8}{asks:>8}{figures}"
