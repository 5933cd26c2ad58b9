"""Read the pattern and word files of a data folder."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import zip_longest
from typing import Literal, TypeVar

from ...errors import InputError
from .blocks import COUNT, read_patterns
from .expand import Expansion, MisfitError, expand, objective_problem, plan_problem, seeded_random
from .noise import add_noise
from .pattern import Pattern, WordList, read_lists
from .wording import MARK, MarkedText

__all__ = [
    "Corpus",
    "Pair",
    "Part",
    "combine_requests",
    "generate",
    "kinds",
    "mix",
    "part_of",
    "patterns",
    "read_corpus",
    "split",
]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Word lists and patterns of a data folder, and the errors in its files.

    The patterns are sorted by their texts, whatever files they are in.
    """

    lists: Mapping[str, WordList]
    patterns: tuple[Pattern, ...]
    errors: tuple[InputError, ...]


@cache
def patterns() -> tuple[Pattern, ...]:
    """Return the patterns that the package ships, sorted by their texts.

    Raises:
        InputError: A line of a file breaks a rule.
    """
    corpus = read_corpus(resources.files(__package__ or ""))
    if corpus.errors:
        raise corpus.errors[0]
    return corpus.patterns


def read_corpus(folder: Traversable) -> Corpus:
    """Read `words` and `patterns` with their subfolders; errors are collected, not raised."""
    errors: list[InputError] = []
    lists: dict[str, WordList] = {}
    file_of = {COUNT: "the language itself"}
    for name, text in _read_texts(folder, "words", errors):
        for word_list in _collect_errors(read_lists(text, name), errors):
            if word_list.name in file_of:
                problem = f"{name}: list {word_list.name} is in {file_of[word_list.name]} already."
                errors.append(InputError(problem, "Rename one of them."))
            else:
                lists[word_list.name], file_of[word_list.name] = word_list, name
    blocks: list[Pattern] = []
    for name, text in _read_texts(folder, "patterns", errors):
        blocks += _collect_errors(read_patterns(text, name, lists), errors)
    # A seed draws by index: moving a block to another file must not change what it draws.
    blocks.sort(key=lambda block: block.text)
    return Corpus(lists, tuple(blocks), tuple(errors))


_T = TypeVar("_T")


def _collect_errors(items: Iterable[_T | InputError], errors: list[InputError]) -> Iterator[_T]:
    for item in items:
        if isinstance(item, InputError):
            errors.append(item)
        else:
            yield item


def _read_texts(
    folder: Traversable, kind: str, errors: list[InputError]
) -> Iterator[tuple[str, str]]:
    """Yield each file's name, such as `patterns/chain/home.txt`, and its text."""
    place = folder / kind
    if not place.is_dir():
        errors.append(InputError(f"There is no folder {place}.", "Install the package again."))
        return
    for name, file in _text_files(place, kind):
        try:
            yield name, file.read_text("utf-8")
        except UnicodeDecodeError:
            errors.append(InputError(f"{name} is not UTF-8 text.", "Save it as UTF-8."))


def _text_files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    """Yield the text files of a folder and its subfolders, sorted by name."""
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _text_files(item, f"{name}/{item.name}")
        elif item.name.endswith(".txt"):
            yield f"{name}/{item.name}", item


_MAX_STEPS = 8
_JOINS_IN_LINE = (
    ("", " Also: "),
    ("", " Separately: "),
    ("", " Another thing: "),
    ("", " And, nothing to do with it: "),
    ("Two things. ", " And: "),
    ("Two unrelated things: 1) ", " 2) "),
    ("First task: ", " Second task: "),
    ("1. ", "\n2. "),
    ("- ", "\n- "),
)
_JOINS_ON_LINES = (
    ("", "\n"),
    ("", "\n\n"),
    ("", "\n\nAlso:\n"),
    ("", "\n---\n"),
    ("Task 1:\n", "\n\nTask 2:\n"),
    ("", "\n\nSomething else:\n"),
)
"""Texts before the first request and between the two."""

_MARKS = re.compile(MARK)
_END = re.compile(r"[.?!:…]['\"”)]?$")
_NUMBER = re.compile(r"^\d+", re.MULTILINE)
_NEEDS = re.compile(r"\(needs [\d, ]+\)$", re.MULTILINE)


def combine_requests(first: Expansion, second: Expansion, rng: random.Random) -> Expansion:
    """Put two requests into one message; the plan has the steps of both, side by side.

    Raises:
        MisfitError: The plan or the message breaks a limit.
    """
    offset = len(first.needs)
    if offset + len(second.needs) > _MAX_STEPS:
        raise MisfitError(f"{offset + len(second.needs)} steps are more than {_MAX_STEPS}")
    objective = _message(first.objective, second.objective, rng)
    plan = f"{first.plan}\n{_shift_numbers(second.plan, offset)}"
    if problem := objective_problem(objective.plain_text()) or plan_problem(
        plan, objective.plain_text()
    ):
        raise MisfitError(problem)
    shifted = (tuple(need + offset for need in step_needs) for step_needs in second.needs)
    return Expansion(
        objective,
        plan,
        (*first.needs, *shifted),
        first.objective_variables | second.objective_variables,
        first.plan_variables | second.plan_variables,
    )


def _message(first: MarkedText, second: MarkedText, rng: random.Random) -> MarkedText:
    has_lines = "\n" in first.text or "\n" in second.text
    lead, join = rng.choice(_JOINS_ON_LINES if has_lines else (*_JOINS_IN_LINE, *_JOINS_ON_LINES))
    stop = "" if join.startswith("\n") or _END.search(first.plain_text()) else "."
    # The marks of the second text are numbered after those of the first.
    second_text = _MARKS.sub(lambda match: chr(ord(match[0]) + len(first.slots)), second.text)
    return MarkedText(f"{lead}{first.text}{stop}{join}{second_text}", [*first.slots, *second.slots])


def _shift_numbers(plan: str, offset: int) -> str:
    """Return a plan with all its step numbers higher by an amount."""

    def shift(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(int(number[0]) + offset), match[0])

    return _NEEDS.sub(shift, _NUMBER.sub(shift, plan))


Part = Literal["train", "development"]
_DEVELOPMENT_SHARE = 0.12
_GROWTH = 0.75
_TWO_REQUESTS_SHARE = 0.1  # share of wide plans that get a second request
_MAX_REPEATS = 100  # repeated objectives in a row before a group is given up


@dataclass(frozen=True, slots=True)
class Pair:
    """An objective, its plan as numbered lines, and the kind of pattern both come from.

    An objective with two requests has the kind of one of them.
    """

    objective: str
    plan: str
    kind: str


def generate(
    seed: int, count: int, kinds: Sequence[str] | None = None, part: Part = "train"
) -> list[Pair]:
    """Return `count` pairs, no objective twice, of all kinds or of some.

    Raises:
        InputError: There is no such kind, a pattern file breaks a rule, or the patterns give fewer
            than `count` objectives.
    """
    train, development = split(patterns())
    blocks = train if part == "train" else development
    if kinds is not None:
        known = {block.kind for block in patterns()}
        if unknown := [kind for kind in kinds if kind not in known]:
            raise InputError(f"There is no kind {unknown[0]!r}.", "Take one of kinds().")
        blocks = [block for block in blocks if block.kind in kinds]
    return mix(blocks, seed, count)


def kinds() -> tuple[str, ...]:
    """Return every kind, ordered so that the first few are a balanced choice.

    A kind of single steps comes first, then a chain, then two kinds of wide plans, and so on.
    Within each of these groups, kinds with more patterns come first.
    """
    blocks = _group_by_kind(patterns())
    ordered = sorted(blocks, key=lambda kind: (-len(blocks[kind]), kind))
    narrow = [kind for kind in ordered if all(block.is_narrow for block in blocks[kind])]
    single = [kind for kind in narrow if all(len(block.steps) == 1 for block in blocks[kind])]
    chains = [kind for kind in narrow if kind not in single]
    wide = [kind for kind in ordered if kind not in narrow]
    rounds = zip_longest(single, chains, wide[::2], wide[1::2])
    return tuple(kind for members in rounds for kind in members if kind is not None)


def part_of(pattern: Pattern) -> Part:
    """Return the part a pattern belongs to; it depends on the pattern's text alone."""
    digest = hashlib.sha256(pattern.text.encode()).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    return "development" if share < _DEVELOPMENT_SHARE else "train"


def split(blocks: Iterable[Pattern]) -> tuple[list[Pattern], list[Pattern]]:
    """Return the patterns for training and those for development."""
    train: list[Pattern] = []
    development: list[Pattern] = []
    for block in blocks:
        (train if part_of(block) == "train" else development).append(block)
    return train, development


def mix(blocks: Sequence[Pattern], seed: int, count: int) -> list[Pair]:
    """Return `count` pairs of some patterns; a third is narrow if there are enough of those.

    A kind's share grows with the number of its patterns, but a little more slowly.

    Raises:
        InputError: The patterns give fewer than `count` objectives, or none fits the limits.
    """
    rng = seeded_random(seed)
    groups = {True: _group_by_kind(block for block in blocks if block.is_narrow)}
    groups[False] = _group_by_kind(block for block in blocks if not block.is_narrow)
    pairs: list[Pair] = []
    seen: set[str] = set()
    repeats = 0
    while len(pairs) < count and any(groups.values()):
        narrow_turn = len(pairs) % 3 == 0
        narrow_turn = narrow_turn if groups[narrow_turn] else not narrow_turn
        block = _draw_pattern(groups[narrow_turn], rng)
        example = expand(block, rng)
        if not narrow_turn and rng.random() < _TWO_REQUESTS_SHARE:
            example = _add_request(example, groups[rng.random() < 0.5], rng)
        pair = Pair(add_noise(example.objective, rng), example.plan, block.kind)
        # The same request with other noise teaches little: each occurs once, with noise or without.
        texts = {example.objective.plain_text().casefold(), pair.objective.casefold()}
        if seen.isdisjoint(texts):
            pairs.append(pair)
            repeats = 0
        else:
            repeats += 1
        seen |= texts
        if repeats == _MAX_REPEATS:
            groups[narrow_turn], repeats = {}, 0  # it has no new objectives left
    if len(pairs) < count:
        fix = "Ask for fewer, or add patterns and words."
        raise InputError(f"The patterns give {len(pairs)} objectives, not {count}.", fix)
    rng.shuffle(pairs)
    return pairs


def _add_request(
    example: Expansion, blocks: dict[str, list[Pattern]], rng: random.Random
) -> Expansion:
    """Add another request to the message if both together fit the limits."""
    if not blocks:
        return example
    first, second = rng.sample((example, expand(_draw_pattern(blocks, rng), rng)), 2)
    with suppress(MisfitError):
        return combine_requests(first, second, rng)
    return example


def _group_by_kind(blocks: Iterable[Pattern]) -> dict[str, list[Pattern]]:
    kinds: dict[str, list[Pattern]] = {}
    for block in blocks:
        kinds.setdefault(block.kind, []).append(block)
    return dict(sorted(kinds.items()))


def _draw_pattern(blocks: dict[str, list[Pattern]], rng: random.Random) -> Pattern:
    kind = rng.choices([*blocks], [len(found) ** _GROWTH for found in blocks.values()])[0]
    return rng.choice(blocks[kind])
