"""Command that checks the pattern files or shows examples drawn from them.

python -m prefect_swarm.parl.data check [--notes] [FILE ...]
python -m prefect_swarm.parl.data show [--kind K] [-n 20] [--seed S] [--noise] [FILE ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path

from ...errors import InputError
from .check import check_pattern, table
from .expand import expand, seeded_random
from .generate import read_corpus
from .noise import add_noise
from .pattern import Pattern


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
