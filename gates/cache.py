"""Cached gate results: a file for each gate, version and subject."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..files import make_folder
from ..untrusted.folder import read_file
from .gate import Subject
from .result import GateResult

__all__ = ["GateCache"]

_RULES = 3
"""To be raised when this package's own gates decide otherwise, whatever their tools' versions."""


@dataclass(frozen=True, slots=True)
class GateCache:
    """A folder that many processes may read and write; a file that can't be read is a miss."""

    folder: Path

    def get(self, gate: str, version: str, subject: Subject) -> GateResult | None:
        """Return the cached result, if there is one."""
        try:
            data = read_file(self._file(gate, version, subject))
            return GateResult.model_validate_json(data)
        except (OSError, ValidationError):
            return None

    def put(self, gate: str, version: str, subject: Subject, result: GateResult) -> None:
        """Store a result; on a full disk nothing is stored."""
        file = self._file(gate, version, subject)
        with suppress(OSError):
            make_folder(file.parent)
            handle, part = tempfile.mkstemp(dir=file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(result.model_dump_json())
            Path(part).replace(file)

    def _file(self, gate: str, version: str, subject: Subject) -> Path:
        parts = f"{_RULES}\n{gate}\n{version}\n{subject.digest}"
        key = hashlib.sha256(parts.encode()).hexdigest()
        return self.folder / gate / f"{key}.json"
