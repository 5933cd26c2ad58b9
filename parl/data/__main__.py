"""Check the pattern files, or show what they give.

python -m prefect_swarm.parl.data check [--notes] [FILE ...]
python -m prefect_swarm.parl.data show [--kind K] [-n 20] [--seed S] [--dress] [FILE ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path

from ...errors import InputError
from .check import check_pattern, table
from .generating.chance import seeded
from .generating.corpus import read_corpus
from .generating.expand import expand
from .noise.apply import dress
from .parsing.pattern import Pattern


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two commands; the exit status is 1 where a file has an error."""
    options = _parser().parse_intermixed_args(arguments)
    folder = options.folder or resources.files(__package__ or "")
    corpus = read_corpus(folder)
    errors = [error for error in corpus.errors if _wanted(str(error), options.files)]
    blocks = [one for one in corpus.patterns if _wanted(one.where, options.files)]
    if options.kind:
        blocks = [one for one in blocks if one.kind == options.kind]
    if options.command == "show":
        _say(_shown(blocks, options.count, options.seed, dressed=options.dress))
        return 0
    blocks.sort(key=lambda block: (block.file, block.line))
    findings = [check_pattern(block) for block in blocks]
    wrong = [f"{error}" for error in errors]
    wrong += [f"{one.pattern.where}: {error}." for one in findings for error in one.errors]
    if options.notes:
        _say(f"{one.pattern.where}: note: {note}." for one in findings for note in one.notes)
    _say(table(findings))
    noted = sum(bool(one.notes) for one in findings)
    _say(wrong)
    _say([f"{len(blocks)} blocks, {len(wrong)} errors, {noted} blocks with notes (--notes)."])
    return 1 if wrong else 0


def _shown(blocks: Sequence[Pattern], count: int, seed: int, *, dressed: bool) -> Iterator[str]:
    rng = seeded(seed)
    for _ in range(count if blocks else 0):
        block = rng.choice(blocks)
        try:
            example = expand(block, rng)
            asked = dress(example.objective, rng) if dressed else example.objective.plain()
            yield f"--- {block.kind} {block.where}\n{asked}\n\n{example.plan}\n"
        except InputError as error:
            yield f"--- {block.kind} {block.where}\n{error}\n"


def _wanted(where: str, files: Sequence[str]) -> bool:
    return not files or any(name in where for name in files)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m prefect_swarm.parl.data", description=__doc__)
    parser.add_argument("command", choices=("check", "show"))
    parser.add_argument(
        "files",
        nargs="*",
        help="only files whose path has one of these in it, such as chain/home.txt",
    )
    parser.add_argument("--kind", default="", help="only this kind")
    parser.add_argument("--notes", action="store_true", help="show the notes of the check")
    parser.add_argument("-n", dest="count", type=int, default=20, help="examples to show")
    parser.add_argument("--dress", action="store_true", help="with small talk, typos and the like")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="another folder of patterns and words")
    return parser


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
