"""Measure both in turns, and write the section."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from prefect_swarm.models.llama.api import usable_cores
from prefect_swarm.models.llama.gguf import demo_model_path

from .engine_way import EngineWay
from .server_way import ServerWay
from .turns import turns_section
from .workload import (
    MODES,
    SHARED_PROMPTS,
    SHARED_TOKENS,
    TOKENS,
    Ask,
    Contender,
    Mode,
    Rates,
    Setting,
    prompts,
    requests_at,
    shared_ask,
)

__all__ = ["measure"]

SLOTS = (1, 4, 8, 16, 32)
SHARED_SLOTS = (1, 16)
ROUNDS = 3
SHARED_ROUNDS = 2
N_CTX = 256
SHARED_N_CTX = 1536
HEAD = """\
## The local engine and llama.cpp's server

How fast does the local engine write, compared with llama.cpp's own server, with the same model file
(the embedded SmolLM2-135M), threads ({threads}) and slots? {rounds} rounds in turns. A cell has the
engine's tokens a second, and the median of engine ÷ server with the lowest and the highest.
Requests of {tokens} tokens after a short prompt, at least 4 and one for each slot, are sent at
once. *Deterministic*: an answer does not depend on what is computed beside it.
"""
SHARED = """\

{count} requests of {tokens} tokens whose prompts share the first 1,200 tokens or so: seconds until
the last answer, the median of {rounds} rounds. *Best*: each with the slots that suit it.

| Slots | Engine, s | Server, s | Server ÷ engine |
|---:|---:|---:|---:|"""


@dataclass(frozen=True, slots=True)
class Pair:
    """What both did in one round."""

    ours: Rates
    theirs: Rates

    @property
    def ratio(self) -> float:
        """How many times as fast as the server the engine was."""
        return self.ours.per_second / self.theirs.per_second


def measure() -> str:
    """Measure everything and return the section."""
    path = demo_model_path()
    lines = [
        HEAD.format(threads=usable_cores(), rounds=ROUNDS, tokens=TOKENS),
        "| Mode | " + " | ".join(f"{slots} slots" for slots in SLOTS) + " |",
        "|---|" + "---:|" * len(SLOTS),
        *_short_rows(path),
        SHARED.format(count=SHARED_PROMPTS, tokens=SHARED_TOKENS, rounds=SHARED_ROUNDS),
        *_shared_rows(path),
    ]
    return "\n".join([*lines, turns_section()])


def _short_rows(path: Path) -> list[str]:
    cells: dict[str, list[str]] = {}
    for slots in SLOTS:
        for deterministic in (False, True):
            with _both(path, Setting(slots, N_CTX), deterministic=deterministic) as ways:
                for mode in MODES if not deterministic else ("greedy",):
                    name = "greedy, deterministic" if deterministic else MODES[mode]
                    cells.setdefault(name, []).append(_cell(ways, mode, slots))
    return [f"| {name} | {' | '.join(row)} |" for name, row in cells.items()]


def _cell(ways: tuple[Contender, Contender], mode: Mode, slots: int) -> str:
    asks = [Ask.of(mode, prompts(requests_at(slots), number)) for number in range(ROUNDS)]
    pairs = asyncio.run(_in_turns(ways, asks))
    rate = median(pair.ours.per_second for pair in pairs)
    return f"{rate:.0f}, {_spread([pair.ratio for pair in pairs])}"


def _shared_rows(path: Path) -> list[str]:
    rows: list[str] = []
    best: list[tuple[float, float]] = []
    for slots in SHARED_SLOTS:
        with _both(path, Setting(slots, SHARED_N_CTX)) as ways:
            asks = [shared_ask(number) for number in range(SHARED_ROUNDS)]
            pairs = asyncio.run(_in_turns(ways, asks))
        ours, theirs = (
            median(rates.seconds for rates in side)
            for side in zip(*((pair.ours, pair.theirs) for pair in pairs), strict=True)
        )
        spread = _spread([pair.theirs.seconds / pair.ours.seconds for pair in pairs])
        rows.append(f"| {slots} | {ours:.1f} | {theirs:.1f} | {spread} |")
        best.append((ours, theirs))
    ours, theirs = map(min, zip(*best, strict=True))
    return [*rows, f"| best | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f} |"]


async def _in_turns(ways: tuple[Contender, Contender], asks: list[Ask]) -> list[Pair]:
    ours, theirs = ways
    pairs: list[Pair] = []
    for number, ask in enumerate(asks):
        # The first of a round may find another machine than the second, so they change places.
        if number % 2:
            second = await theirs.answer(ask)
            pairs.append(Pair(await ours.answer(ask), second))
        else:
            first = await ours.answer(ask)
            pairs.append(Pair(first, await theirs.answer(ask)))
    return pairs


@contextmanager
def _both(
    path: Path, setting: Setting, *, deterministic: bool = False
) -> Generator[tuple[Contender, Contender]]:
    ours = EngineWay(path, setting, deterministic=deterministic)
    try:
        theirs = ServerWay(path, setting)
        try:
            asyncio.run(_warm_up((ours, theirs)))
            yield ours, theirs
        finally:
            theirs.close()
    finally:
        ours.close()


async def _warm_up(ways: tuple[Contender, Contender]) -> None:
    for way in ways:
        await way.answer(Ask(("Load the model.",), 4))


def _spread(ratios: list[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
