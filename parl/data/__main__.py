"""Command that checks the pattern files or shows examples drawn from them.

python -m prefect_swarm.parl.data check [--notes] [FILE ...]
python -m prefect_swarm.parl.data show [--kind K] [-n 20] [--seed S] [--noise] [FILE ...]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from statistics import mean

from ...errors import InputError
from .expand import Expansion, MisfitError, draw, expand, seeded_random
from .generate import read_corpus
from .noise import add_noise
from .pattern import Pattern

__all__ = ["check_pattern", "depth", "table", "width"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two commands; the exit status is 1 if a file has an error."""
    options = _parser().parse_intermixed_args(arguments)
    folder = options.folder or resources.files(__package__ or "")
    corpus = read_corpus(folder)
    errors = [error for error in corpus.errors if _is_selected(str(error), options.files)]
    patterns = [
        pattern for pattern in corpus.patterns if _is_selected(pattern.location, options.files)
    ]
    if options.kind:
        patterns = [pattern for pattern in patterns if pattern.kind == options.kind]
    if options.command == "show":
        _write_lines(_write_examples(patterns, options.count, options.seed, noise=options.noise))
        return 0
    patterns.sort(key=lambda pattern: (pattern.file, pattern.line))
    findings = [check_pattern(pattern) for pattern in patterns]
    messages = [f"{error}" for error in errors]
    for finding in findings:
        messages += [f"{finding.pattern.location}: {error}." for error in finding.errors]
        if options.notes:
            _write_lines(f"{finding.pattern.location}: note: {note}." for note in finding.notes)
    _write_lines(table(findings))
    with_notes = sum(bool(finding.notes) for finding in findings)
    _write_lines(messages)
    counts = f"{len(patterns)} blocks, {len(messages)} errors, {with_notes} blocks with notes"
    _write_lines([f"{counts} (--notes)."])
    return 1 if messages else 0


def _write_examples(
    patterns: Sequence[Pattern], count: int, seed: int, *, noise: bool
) -> Iterator[str]:
    rng = seeded_random(seed)
    for _ in range(count if patterns else 0):
        pattern = rng.choice(patterns)
        try:
            example = expand(pattern, rng)
            objective = (
                add_noise(example.objective, rng) if noise else example.objective.plain_text()
            )
            yield f"--- {pattern.kind} {pattern.location}\n{objective}\n\n{example.plan}\n"
        except InputError as error:
            yield f"--- {pattern.kind} {pattern.location}\n{error}\n"


def _is_selected(location: str, files: Sequence[str]) -> bool:
    return not files or any(name in location for name in files)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m prefect_swarm.parl.data", description=__doc__)
    parser.add_argument("command", choices=("check", "show"))
    parser.add_argument(
        "files",
        nargs="*",
        help="only files whose path contains one of these, such as chain/home.txt",
    )
    parser.add_argument("--kind", default="", help="only this kind")
    parser.add_argument("--notes", action="store_true", help="show the notes of the check")
    parser.add_argument("-n", dest="count", type=int, default=20, help="examples to show")
    parser.add_argument("--noise", action="store_true", help="add small talk, typos and the like")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="another folder of patterns and words")
    return parser


def _write_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())


DRAWS = 30
"""Examples that the check draws from a pattern."""


@dataclass(frozen=True, slots=True)
class _PatternFinding:
    """Result of a pattern's check: errors, notes, and the examples that fit the limits."""

    pattern: Pattern
    errors: tuple[str, ...]
    notes: tuple[str, ...]
    expansions: tuple[Expansion, ...]


def check_pattern(pattern: Pattern, draws: int = DRAWS) -> _PatternFinding:
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
    return _PatternFinding(pattern, tuple(errors), tuple(notes), tuple(expansions))


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


def table(findings: Iterable[_PatternFinding]) -> Iterator[str]:
    """Yield a line for each kind: blocks, asks, mean steps, width and depth."""
    kinds: dict[str, list[_PatternFinding]] = {}
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
