"""The embedded model in the form that this processor likes, made once and kept on the disk.

Import it late: it loads the shared library.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...errors import ModelError, StorageError
from ...settings import SwarmSettings, home
from .gguf import file_hash, is_demo_model, read_tensors
from .once import is_whole, make_once, write_whole
from .quantiser import processor, quantise
from .requantised import DEFAULT_TARGET, Requantisation, Target, requantisation_of

__all__ = ["Prepared", "find_prepared", "make_requantised", "requantisation_for", "weights_of"]


_NOUN = "model file"
_HEADER_BYTES = 16 * 2**20
"""Room for the rest of a file, without its tensors: a vocabulary takes a few megabytes."""

_logger = logging.getLogger("prefect_swarm.weights")


@dataclass(frozen=True)
class Prepared:
    """The requantised form of a source.

    Attributes:
        path: Where it lies, or will.
        change: How it differs from the source.
        made: Whether it is there, whole, and made from the source.
    """

    path: Path
    change: Requantisation
    made: bool


def requantisation_for(source: Path, target: Target = DEFAULT_TARGET) -> Requantisation | None:
    """Return what requantising would change in a model file; None if it is fast here as it is."""
    return requantisation_of(read_tensors(source, _NOUN), processor(), target)


def find_prepared(source: Path) -> Prepared | None:
    """Return the form of a file that is computed with in its place; None if it is the file itself.

    That is so for the embedded model alone, unless the setting `requantise` is `off`.
    """
    if not is_demo_model(source) or SwarmSettings().requantise == "off":
        return None
    if (change := requantisation_for(source)) is None:
        return None
    path = home() / "weights" / f"{file_hash(source)}-{change.target}.gguf"
    return Prepared(path, change, is_whole(path, file_hash(source)))


def weights_of(source: Path, say: Callable[[str], None] | None = None) -> Path:
    """Return the file to compute with for a model file, and make it if it isn't there yet.

    Where it can't be made, it is the source.

    Args:
        source: A file that passed `check_model_file`.
        say: Called with a line before something is made, which takes a moment, and with why it
            can't be made. The log has it if None.
    """
    prepared = find_prepared(source)
    if prepared is None:
        return source
    if prepared.made:
        return prepared.path
    try:
        _prepare(source, prepared, say or _logger.info)
    except (ModelError, StorageError) as error:
        (say or _logger.warning)(
            f"The model's weights can't be prepared for this processor, so it computes with the "
            f"file as it is, which is slower. {error}"
        )
        return source
    return prepared.path


def make_requantised(source: Path, path: Path, change: Requantisation) -> None:
    """Write the requantised form of a model file; it takes its name once it is whole.

    Raises:
        ModelError: llama.cpp can't make it.
        StorageError: There is no room for it, or its folder can't be written to.
    """
    digest = file_hash(source)

    def write(temporary: Path) -> None:
        quantise(source, temporary, change.target, digest)
        if not is_whole(temporary, digest):
            raise ModelError(
                f"What llama.cpp made of {source} is not whole.", "Use the file as it is."
            )

    write_whole(path, change.size + _HEADER_BYTES, write)


def _prepare(source: Path, prepared: Prepared, say: Callable[[str], None]) -> None:
    def make() -> None:
        say("Preparing the model's weights for this processor: once, about 1 s.")
        make_requantised(source, prepared.path, prepared.change)

    make_once(prepared.path, file_hash(source), make)
