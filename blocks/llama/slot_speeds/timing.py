"""How fast one to sixteen texts are written together.

Import it late: it loads the shared library.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ..api import EngineConfig
from ..native import BatchToken, Native
from ..sizing import MOST_SLOTS
from ..threads import LoadSample, take_sample, was_quiet

__all__ = ["agreed", "time_texts"]

_AGREEMENT = 1.2
"""Two measurements of the same agree if neither is more than so many times the other."""
_COUNTS = tuple(2**n for n in range(MOST_SLOTS.bit_length()))
_HELD_TOKENS = 120
"""Tokens that each sequence holds: less than most prompts, which would take longer to compute."""
_ROUNDS = 6
"""Steps of each count, of which every other makes up one of two measurements."""
_CONTEXT = 256


def time_texts(
    path: Path,
    config: EngineConfig,
    most_s: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
    look: Callable[[], LoadSample | None] = take_sample,
) -> dict[int, float] | None:
    """Load a model file, unless it is, and time steps of 1, 2, 4, 8 and 16 texts.

    Args:
        path: The model file.
        config: How it is served; its context and slots don't matter.
        most_s: Seconds that the steps may take; None for any.
        clock: Gives seconds.
        look: Gives what was computed until now.

    Returns:
        Tokens a second of all texts together, by their count; None if it took too long, if
        something else computed meanwhile or that isn't known, or if two measurements don't agree.

    Raises:
        ModelError: The file can't be loaded, or memory is short.
    """
    served = EngineConfig(
        n_ctx=_CONTEXT,
        n_slots=MOST_SLOTS,
        n_threads=config.n_threads,
        n_gpu_layers=config.n_gpu_layers,
    )
    native = Native(path, served)
    try:
        before = look()
        steps = _Steps(native, clock).measure(most_s)
        if steps is None or not was_quiet(before, look()):
            return None
        return {count: count / seconds for count, seconds in steps.items()}
    finally:
        native.close()


def agreed(first: Mapping[int, float], second: Mapping[int, float]) -> dict[int, float] | None:
    """Return the smaller figures of two measurements; None if they don't agree. Pure.

    What else computes makes a step longer, and never shorter.
    """
    least = {count: min(first[count], second[count]) for count in first}
    most = {count: max(first[count], second[count]) for count in first}
    return least if all(most[n] <= _AGREEMENT * least[n] for n in least) else None


class _Steps:
    """A context whose sequences all hold the same prompt, and grow by a token a step."""

    def __init__(self, native: Native, clock: Callable[[], float]) -> None:
        self._native = native
        self._clock = clock
        self._lengths = [0] * MOST_SLOTS
        self._token = native.tokenize("word")[-1]

    def measure(self, most_s: float | None) -> dict[int, float] | None:
        began = self._clock()
        self._fill(min(_HELD_TOKENS, self._native.n_ctx // 2))
        rounds: list[dict[int, float]] = []
        for _ in range(1 + _ROUNDS):
            taken: dict[int, float] = {}
            for count in _COUNTS:
                taken[count] = self._step(count)
                if most_s is not None and self._clock() - began > most_s:
                    return None
            rounds.append(taken)
        # The first round pays for what llama.cpp does at its first step of a size.
        return agreed(_least(rounds[1::2]), _least(rounds[2::2]))

    def _fill(self, length: int) -> None:
        self._native.decode([BatchToken(self._token, n, 0, n == length - 1) for n in range(length)])
        self._native.logits(length - 1)
        for sequence in range(1, MOST_SLOTS):
            self._native.copy(0, sequence, length)
        self._lengths = [length] * MOST_SLOTS

    def _step(self, count: int) -> float:
        entries = [BatchToken(self._token, self._lengths[n], n, True) for n in range(count)]
        began = self._clock()
        self._native.decode(entries)
        # A GPU has computed only once somebody reads.
        self._native.logits(count - 1)
        for sequence in range(count):
            self._lengths[sequence] += 1
        return self._clock() - began


def _least(rounds: list[dict[int, float]]) -> dict[int, float]:
    return {count: min(taken[count] for taken in rounds) for count in _COUNTS}
