"""The embedded model with its planner's adapter added, made once and kept on the disk.

A token costs an engine with an adapter two small products more for each matrix; that is about a
quarter of its time with the embedded model. Import it late: it loads the shared library.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ....errors import ModelError, StorageError
from ..adapter import file_hash
from ..requantised.once import is_whole, make_once, write_whole
from ..requantised.prepared import find_prepared, weights_of
from .choice import may_be_merged
from .making import merge

__all__ = ["MergedFile", "find_merged", "make_merged", "merged_of"]

_logger = logging.getLogger("prefect_swarm.weights")


@dataclass(frozen=True)
class MergedFile:
    """A model file with an adapter added.

    Attributes:
        path: Where it lies, or will.
        size: Its bytes, about.
        made: Whether it is there, whole, and made from its source.
    """

    path: Path
    size: int
    made: bool


def find_merged(source: Path, adapter: Path) -> MergedFile | None:
    """Return what is computed with in place of a file and an adapter; None if it is those two.

    See `may_be_merged`; and where the file isn't requantised either, nothing is merged.
    """
    if not may_be_merged(source, adapter) or (prepared := find_prepared(source)) is None:
        return None
    path = prepared.path.with_name(f"{prepared.path.stem}-{file_hash(adapter)}.gguf")
    return MergedFile(path, prepared.change.size, is_whole(path, file_hash(source)))


def merged_of(source: Path, adapter: Path, say: Callable[[str], None] | None = None) -> Path | None:
    """Return the file to compute with for a model file and an adapter, and make it if need be.

    Args:
        source: A file that passed `check_model_file`.
        adapter: A file that passed `check_adapter`.
        say: Called with a line before something is made, and with why it can't be made. The log
            has it if None.

    Returns:
        None if they are used as they are: they aren't merged, or it can't be made.
    """
    found = find_merged(source, adapter)
    if found is None or found.made:
        return found and found.path
    # Where that can't be made, a line has said so.
    if (weights := weights_of(source, say)) == source:
        return None
    try:
        _prepare(source, weights, adapter, found.path, say or _logger.info)
    except (ModelError, StorageError) as error:
        (say or _logger.warning)(
            f"The planner's adapter can't be added to the model's weights, so it is applied at "
            f"each token, which is slower. {error}"
        )
        return None
    return found.path


def make_merged(weights: Path, source: Path, adapter: Path, path: Path) -> None:
    """Write a source's requantised file with an adapter added; it takes its name once it is whole.

    Raises:
        ModelError: The adapter can't be added to that file.
        StorageError: There is no room for it, or its folder can't be written to.
    """
    needed = weights.stat().st_size
    write_whole(path, needed, lambda temporary: merge(weights, source, adapter, temporary))


def _prepare(
    source: Path, weights: Path, adapter: Path, path: Path, say: Callable[[str], None]
) -> None:
    def make() -> None:
        # Of an adapter that is no longer planned with; a process that has it loaded keeps it.
        for former in path.parent.glob(f"{weights.stem}-*{path.suffix}"):
            former.unlink(missing_ok=True)
        say("Adding the planner's adapter to the model's weights: once, a few seconds.")
        make_merged(weights, source, adapter, path)

    make_once(path, file_hash(source), make)
