"""Measured speeds of a model with several parallel texts, stored in a file."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, ValidationError

from ...data_types import Frozen
from ...files import make_folder, write_atomically
from ...settings import home
from ...untrusted.folder import read_file
from .api import EngineConfig, usable_cores
from .sizing import MOST_SLOTS, processor_name

if TYPE_CHECKING:
    from .native import Native

__all__ = [
    "SlotTable",
    "agreed",
    "known_speeds",
    "measure",
    "read_table",
    "table_path",
    "time_texts",
    "write_table",
]


_Speed = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class SlotTable(Frozen):
    """What was measured.

    Attributes:
        speeds: Tokens a second of all texts together, by the count of texts.
        measured_at: When they were measured, in seconds since 1970.
    """

    speeds: dict[int, _Speed]
    measured_at: float


def table_path(path: Path, config: EngineConfig) -> Path:
    """Return the file for what is measured of a model file; it need not exist.

    Another file of that name, count of threads, processor or version of llama.cpp has another.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served; its context and slots don't matter.
    """
    stat = path.stat()
    parts = [
        *(str(path), stat.st_size, stat.st_mtime_ns),
        *(config.n_threads or usable_cores(), config.n_gpu_layers),
        *(processor_name(), version("llama-cpp-python")),
    ]
    name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    return home() / "slots" / f"{name}.json"


def read_table(path: Path) -> SlotTable | None:
    """Return the table in a file; None if there is no file, or it can't be read as that."""
    try:
        return SlotTable.model_validate_json(read_file(path))
    except (OSError, ValidationError):
        return None


def write_table(path: Path, table: SlotTable) -> bool:
    """Store a table; return whether the disk took it."""
    try:
        make_folder(path.parent)
        write_atomically(path, table.model_dump_json())
    except OSError:
        return False
    return True


# Put in and found by this module alone. What another process measures meanwhile must not lead to
# another configuration, so to another engine for a file that is loaded.
_known: dict[Path, Mapping[int, float] | None] = {}


def known_speeds(path: Path, config: EngineConfig) -> Mapping[int, float] | None:
    """Return how fast several texts of a model file are written here; None if it isn't known.

    A process keeps to its first answer, unless it measures itself.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served; its context and slots don't matter.

    Returns:
        Tokens a second by the count of texts.
    """
    stored = table_path(path, config)
    if stored not in _known:
        table = read_table(stored)
        _known[stored] = table.speeds if table else None
    return _known[stored]


def measure(path: Path, config: EngineConfig) -> SlotTable | None:
    """Measure a file and store the result; None if two measurements don't agree.

    What was measured before stays then.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served; its context and slots don't matter.

    Raises:
        ModelError: The file can't be loaded, or memory is short.
    """
    if (speeds := time_texts(path, config)) is None:
        return None
    stored, table = table_path(path, config), SlotTable(speeds=speeds, measured_at=time.time())
    write_table(stored, table)
    _known[stored] = speeds
    return table


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
    clock: Callable[[], float] = time.perf_counter,
) -> dict[int, float] | None:
    """Load a model file, unless it is, and time steps of 1, 2, 4, 8 and 16 texts.

    Args:
        path: The model file.
        config: How it is served; its context and slots don't matter.
        clock: Gives seconds.

    Returns:
        Tokens a second of all texts together, by their count; None if two measurements don't
        agree.

    Raises:
        ModelError: The file can't be loaded, or memory is short.
    """
    # Not at import: it loads llama.cpp.
    from .native import Native

    served = EngineConfig(
        n_ctx=_CONTEXT,
        n_slots=MOST_SLOTS,
        n_threads=config.n_threads,
        n_gpu_layers=config.n_gpu_layers,
    )
    native = Native(path, served)
    try:
        steps = _Steps(native, clock).measure()
    finally:
        native.close()
    return steps and {count: count / seconds for count, seconds in steps.items()}


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

    def measure(self) -> dict[int, float] | None:
        self._fill(min(_HELD_TOKENS, self._native.n_ctx // 2))
        rounds = [{count: self._step(count) for count in _COUNTS} for _ in range(1 + _ROUNDS)]
        # The first round pays for what llama.cpp does at its first step of a size.
        return agreed(_least(rounds[1::2]), _least(rounds[2::2]))

    def _fill(self, length: int) -> None:
        self._decode([(n, 0, n == length - 1) for n in range(length)])
        for sequence in range(1, MOST_SLOTS):
            self._native.copy(0, sequence, length)
        self._lengths = [length] * MOST_SLOTS

    def _step(self, count: int) -> float:
        began = self._clock()
        self._decode([(self._lengths[n], n, True) for n in range(count)])
        for sequence in range(count):
            self._lengths[sequence] += 1
        return self._clock() - began

    def _decode(self, places: list[tuple[int, int, bool]]) -> None:
        from .native import BatchToken

        self._native.decode([BatchToken(self._token, *place) for place in places])
        # A GPU has computed only once somebody reads.
        self._native.logits(len(places) - 1)


def _least(rounds: list[dict[int, float]]) -> dict[int, float]:
    return {count: min(taken[count] for taken in rounds) for count in _COUNTS}
