"""Training pairs for the orchestrator: objectives as people say them, and their plans in lines.

    from prefect_swarm.parl.data.generating.generate import generate, kinds

    train = generate(seed=1, count=20_000)
    development = generate(seed=1, count=500, part="development")
    narrow_in_variety = generate(seed=1, count=20_000, kinds=kinds()[:4])

A seed gives the same pairs on every machine and Python version. The development part is made from
other patterns than the training part, so that it asks in words no training pair has.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from ....errors import InputError
from ..noise.apply import dress
from ..parsing.pattern import Pattern
from .chance import seeded
from .corpus import patterns
from .expand import Expansion, MisfitError, expand
from .two_requests import both

__all__ = ["Pair", "Part", "generate", "kinds", "mix", "part_of", "split"]

Part = Literal["train", "development"]
_DEVELOPMENT = 0.12
_GROWTH = 0.75
_ERRANDS = 0.1  # of the wider ones, two requests in one message
_PATIENCE = 100  # objectives in a row that are there already


@dataclass(frozen=True, slots=True)
class Pair:
    """An objective, its plan as numbered lines, and the kind of pattern both come from.

    A message that asks for two things has the kind of one of them.
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
    """Return every kind, so that the first few are a fair choice.

    One of single steps comes first, then one of chains, then two of wider plans, and so on; among
    their like, kinds of more patterns come earlier.
    """
    blocks = _by_kind(patterns())
    ordered = sorted(blocks, key=lambda kind: (-len(blocks[kind]), kind))
    narrow = [kind for kind in ordered if all(block.narrow for block in blocks[kind])]
    single = [kind for kind in narrow if all(len(block.steps) == 1 for block in blocks[kind])]
    chains = [kind for kind in narrow if kind not in single]
    wide = [kind for kind in ordered if kind not in narrow]
    turns = zip_longest(single, chains, wide[::2], wide[1::2])
    return tuple(kind for turn in turns for kind in turn if kind is not None)


def part_of(pattern: Pattern) -> Part:
    """Return the part a pattern belongs to, which its text alone decides."""
    digest = hashlib.sha256(pattern.text.encode()).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    return "development" if share < _DEVELOPMENT else "train"


def split(blocks: Iterable[Pattern]) -> tuple[list[Pattern], list[Pattern]]:
    """Return the patterns for training and those for development."""
    train: list[Pattern] = []
    development: list[Pattern] = []
    for block in blocks:
        (train if part_of(block) == "train" else development).append(block)
    return train, development


def mix(blocks: Sequence[Pattern], seed: int, count: int) -> list[Pair]:
    """Return `count` pairs of some patterns, a third of them narrow where those suffice.

    A kind's share grows with the number of its patterns, a little more slowly.

    Raises:
        InputError: They give fewer than `count` objectives, or none fits the limits.
    """
    rng = seeded(seed)
    sides = {True: _by_kind(one for one in blocks if one.narrow)}
    sides[False] = _by_kind(one for one in blocks if not one.narrow)
    pairs: list[Pair] = []
    seen: set[str] = set()
    misses = 0
    while len(pairs) < count and any(sides.values()):
        side = len(pairs) % 3 == 0
        side = side if sides[side] else not side
        block = _taken(sides[side], rng)
        example = expand(block, rng)
        if not side and rng.random() < _ERRANDS:
            example = _with_another(example, sides[rng.random() < 0.5], rng)
        pair = Pair(dress(example.objective, rng), example.plan, block.kind)
        # The same request in other clothes teaches little: each is there once, dressed or not.
        said = {example.objective.plain().casefold(), pair.objective.casefold()}
        if seen.isdisjoint(said):
            pairs.append(pair)
            misses = 0
        else:
            misses += 1
        seen |= said
        if misses == _PATIENCE:
            sides[side], misses = {}, 0  # it has said all it can
    if len(pairs) < count:
        fix = "Ask for fewer, or add patterns and words."
        raise InputError(f"The patterns give {len(pairs)} objectives, not {count}.", fix)
    rng.shuffle(pairs)
    return pairs


def _with_another(
    example: Expansion, blocks: dict[str, list[Pattern]], rng: random.Random
) -> Expansion:
    """Ask for something else in the same message, where both together fit."""
    if not blocks:
        return example
    first, second = rng.sample((example, expand(_taken(blocks, rng), rng)), 2)
    with suppress(MisfitError):
        return both(first, second, rng)
    return example


def _by_kind(blocks: Iterable[Pattern]) -> dict[str, list[Pattern]]:
    kinds: dict[str, list[Pattern]] = {}
    for block in blocks:
        kinds.setdefault(block.kind, []).append(block)
    return dict(sorted(kinds.items()))


def _taken(blocks: dict[str, list[Pattern]], rng: random.Random) -> Pattern:
    kind = rng.choices([*blocks], [len(found) ** _GROWTH for found in blocks.values()])[0]
    return rng.choice(blocks[kind])
