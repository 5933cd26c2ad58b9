"""Checks of the pattern files, and examples of what they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from .generating.chance import seeded
from .generating.expand import Expansion, MisfitError, draw
from .parsing.pattern import Pattern

__all__ = ["PatternFinding", "check_pattern", "depth", "table", "width"]

DRAWS = 30
"""Draws of a block in the check."""


@dataclass(frozen=True, slots=True)
class PatternFinding:
    """A block's check: errors, notes that are none, and the draws that fit."""

    pattern: Pattern
    errors: tuple[str, ...]
    notes: tuple[str, ...]
    good: tuple[Expansion, ...]


def check_pattern(pattern: Pattern, draws: int = DRAWS) -> PatternFinding:
    """Draw a block with fixed seeds and say what is wrong with it."""
    good: list[Expansion] = []
    bad: list[str] = []
    for seed in range(draws):
        try:
            good.append(draw(pattern, seeded(seed)))
        except MisfitError as misfit:
            bad.append(str(misfit))
    errors = list(_invented(pattern, good))
    notes: list[str] = []
    if bad:
        reason, _ = Counter(bad).most_common(1)[0]
        said = f"{len(bad)} of {draws} draws don't fit, as {reason}"
        (errors if 2 * len(bad) > draws else notes).append(said)
    if len(pattern.asks) < 5:
        notes.append(f"only {len(pattern.asks)} asks")
    notes += _unused(pattern, good)
    return PatternFinding(pattern, tuple(errors), tuple(notes), tuple(good))


def _invented(pattern: Pattern, good: Iterable[Expansion]) -> Iterator[str]:
    """Say which drawn words a plan has that its objective lacks."""
    found: set[str] = set()
    for example in good:
        for name in example.told - example.asked:
            variable = pattern.variables[name]
            if not variable.inline:
                found.add(name)
    for name in sorted(found):
        yield f"the plan says {{{name}}}, which some ask leaves out"


def _unused(pattern: Pattern, good: Sequence[Expansion]) -> Iterator[str]:
    lost: set[str] = set()
    for example in good:
        lost |= example.asked - example.told
    # A verb or a list's length needs no place in the plan; what was drawn from a list has one.
    for name in sorted(lost):
        if not pattern.variables[name].inline:
            yield f"an ask says {{{name}}}, which its plan leaves out"


def depth(needs: Sequence[Sequence[int]]) -> int:
    """Return how many steps the longest chain has."""
    return max(_levels(needs), default=0)


def width(needs: Sequence[Sequence[int]]) -> int:
    """Return how many steps stand on the same level at most."""
    return max(Counter(_levels(needs)).values(), default=0)


def _levels(needs: Sequence[Sequence[int]]) -> list[int]:
    levels: list[int] = []
    for needed in needs:
        levels.append(1 + max((levels[index] for index in needed), default=0))
    return levels


def table(findings: Iterable[PatternFinding]) -> Iterator[str]:
    """Yield a line for each kind: blocks, asks, mean width and depth."""
    kinds: dict[str, list[PatternFinding]] = {}
    for finding in findings:
        kinds.setdefault(finding.pattern.kind, []).append(finding)
    yield f"{'kind':<32}{'blocks':>8}{'asks':>8}{'steps':>8}{'width':>8}{'depth':>8}"
    for kind in sorted(kinds):
        plans = [one.needs for finding in kinds[kind] for one in finding.good] or [()]
        asks = sum(len(finding.pattern.asks) for finding in kinds[kind])
        means = (mean(map(len, plans)), mean(map(width, plans)), mean(map(depth, plans)))
        figures = "".join(f"{figure:8.1f}" for figure in means)
        yield f"{kind:<32}{len(kinds[kind]):>8}{asks:>8}{figures}"
