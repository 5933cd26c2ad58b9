"""The forms that a run has shown and not read yet: a file each in its folder."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from ....runs import RunFolder
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
    """Return the forms that may have answers; a damaged file is passed over."""
    found: list[PersonForm] = []
    for path in sorted((run.folder / _FORMS).glob("*.json")):
        try:
            found.append(PersonForm.model_validate_json(path.read_bytes()))
        except (OSError, ValidationError) as error:
            _logger.warning(
                "%s is damaged, and what was answered in it isn't read: %s", path, error
            )
    return tuple(found)


def forget_form(run: RunFolder, form: PersonForm) -> None:
    """Forget a form whose answers are written down, or that can't be answered any more."""
    (run.folder / _FORMS / f"{form.key}.json").unlink(missing_ok=True)


def is_suspended(run: RunFolder) -> bool:
    """Say whether the run may be suspended, so that Prefect has a worker go on with it."""
    return any(form.suspended for form in kept_forms(run))
