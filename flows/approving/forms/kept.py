"""The forms that a run has shown and not read yet: a file each in its folder."""

from __future__ import annotations

import logging
from contextlib import suppress

from ....errors import RunDamagedError
from ....runs import RunFolder
from ....untrusted.folder import MOST_TEXT_BYTES
from .fields import PersonForm

__all__ = ["forget_form", "is_suspended", "keep_form", "kept_forms"]

_FORMS = "forms"
_logger = logging.getLogger("prefect_swarm.runs")


def keep_form(run: RunFolder, form: PersonForm) -> None:
    """Write a form down, before anybody sees it.

    Raises:
        StorageError: It can't be written.
    """
    run.write(f"{_FORMS}/{form.key}.json", form)


def kept_forms(run: RunFolder) -> tuple[PersonForm, ...]:
    """Return the forms that may have answers; a damaged file is passed over.

    Raises:
        RunDamagedError: They can't be listed.
    """
    found: list[PersonForm] = []
    for name in run.names(_FORMS, ".json"):
        try:
            with run.readable(f"{_FORMS}/{name}"):
                data = run.read_bytes(f"{_FORMS}/{name}", MOST_TEXT_BYTES)
                found.append(PersonForm.model_validate_json(data or b""))
        except RunDamagedError as error:
            _logger.warning("%s What was answered in it isn't read.", error.problem)
    return tuple(found)


def forget_form(run: RunFolder, form: PersonForm) -> None:
    """Forget a form whose answers are written down, or that can't be answered any more."""
    run.remove(f"{_FORMS}/{form.key}.json")


def is_suspended(run: RunFolder) -> bool:
    """Say whether the run may be suspended, so that Prefect has a worker go on with it."""
    with suppress(RunDamagedError):
        return any(form.suspended for form in kept_forms(run))
    return False
