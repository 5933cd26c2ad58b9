"""The inputs of a run: those of its parameters, and those of the code that starts it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from ...errors import InputError, RunDamagedError
from ...inputs.reading import given_together
from ...runs import RunFolder
from .plans import IN_FOLDER

__all__ = ["inputs_digest", "inputs_given", "keep_inputs", "stored_inputs"]

_FILE = "inputs.json"

# `inputs_given` sets it around a call of the flow: a Prefect server takes parameters of 512 KiB at
# most, and documents may be larger. From the run's beginning on its folder has them.
_given: ContextVar[Mapping[str, str] | None] = ContextVar("inputs", default=None)


@contextmanager
def inputs_given(texts: Mapping[str, str]) -> Generator[None]:
    """Have the runs that are started inside read these texts, by their names."""
    token = _given.set(texts)
    try:
        yield
    finally:
        _given.reset(token)


def inputs_digest() -> str:
    """Return what tells apart the texts that the code around gives to runs; "" if it gives none."""
    texts = _given.get()
    if not texts:
        return ""
    return hashlib.sha256(json.dumps(dict(texts), sort_keys=True).encode()).hexdigest()[:16]


def keep_inputs(run: RunFolder, parameter: Mapping[str, str] | None) -> None:
    """Write what a run that begins is given into its folder.

    Args:
        run: The run's folder.
        parameter: What the flow run's parameters have.

    Raises:
        InputError: A text can't be given under its name, or two have the same one.
        StorageError: There is no room for them.
    """
    if IN_FOLDER in (parameter or {}):
        raise InputError(
            f"The inputs of run {run.run_id} are too large for a flow run's parameters, and "
            f"{run.folder} doesn't have them.",
            "Run the objective anew, with its inputs.",
        )
    if texts := given_together(parameter or {}, _given.get() or {}):
        run.write(_FILE, texts)


def stored_inputs(run: RunFolder) -> dict[str, str]:
    """Return what a run was given when it began.

    Raises:
        RunDamagedError: It can't be read any more.
    """
    try:
        return {name: str(text) for name, text in run.read_json(_FILE).items()}
    except RunDamagedError as error:
        raise RunDamagedError(error.problem, "Run the objective anew, with its files.") from None
