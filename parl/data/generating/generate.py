"""Generate training pairs for the orchestrator: objectives and their plans in numbered lines.

    from prefect_swarm.parl.data.generating.generate import generate, kinds

    train = generate(seed=1, count=20_000)
    development = generate(seed=1, count=500, part="development")
    narrow_in_variety = generate(seed=1, count=20_000, kinds=kinds()[:4])

A seed gives the same pairs on every machine and Python version. The development part uses other
patterns than the training part, so that its wording is not in any training pair.
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
from ..noise.apply import add_noise
from ..parsing.pattern import Pattern
from .corpus import patterns
from .draw import seeded_random
from .expand import Expansion, MisfitError, expand
from .two_requests import combine_requests

__all__ = ["Pair", "Part", "generate", "kinds", "mix", "part_of", "split"]

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
