"""Where reports are kept: `evals/NAME/TIME.json` in the data folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from ..errors import InputError
from ..files import make_folder, storage_error, write_atomically
from ..settings import home
from ..text_files import decoded, file_problem, read_text
from ..untrusted.folder import read_file
from .report import EvalReport

__all__ = ["last_report", "load_report", "report_path", "save_report"]


def report_path(report: EvalReport) -> Path:
    """Return where a report is kept; the names of later ones sort after it."""
    started = datetime.fromtimestamp(report.started_at, UTC)
    return _folder(report.name) / f"{started:%Y-%m-%dT%H-%M-%S.%fZ}.json"


def save_report(report: EvalReport) -> Path:
    """Write a report, in the place of what it was before; return its path.

    Raises:
        StorageError: It can't be written; what was there before stays.
    """
    path, text = report_path(report), f"{report.model_dump_json(indent=1)}\n"
    try:
        make_folder(path.parent)
        write_atomically(path, text)
    except OSError as error:
        raise storage_error(path, len(text.encode()), error) from error
    return path


def last_report(name: str) -> tuple[Path, EvalReport] | None:
    """Return the newest report of a name whose runs were all made, and its path; None if none is.

    Raises:
        InputError: A newer one is damaged.
    """
    for path in sorted(_folder(name).glob("[0-9]*.json"), reverse=True):
        try:
            data = read_file(path)
        except OSError as error:
            raise file_problem(f"report {path}", error, "Remove it.") from None
        if (report := _report_of(path, decoded(data, f"report {path}"))).finished:
            return path, report
    return None


def load_report(path: Path) -> EvalReport:
    """Read a report.

    Raises:
        InputError: It can't be read, or is none.
    """
    return _report_of(path, read_text(path, "report"))


def _report_of(path: Path, text: str) -> EvalReport:
    try:
        return EvalReport.model_validate_json(text)
    except ValidationError as error:
        why = error.errors(include_url=False)[0]
        where = ".".join(map(str, why["loc"]))
        raise InputError(
            f"The report {path} is none of an evaluation: {where or 'it'}: {why['msg']}.",
            "Give a file that `prefect-swarm eval` wrote, or remove this one.",
        ) from None


def _folder(name: str) -> Path:
    return home() / "evals" / name
