"""`ProcedureStore`: what is kept of procedures; here in the data folder, each version as a file.

`procedures/NAME/3.yaml` is version 3; the file `current` names another version than the newest.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..files import make_folder, read_text, storage_error, write_atomically
from ..plan.procedure import NAME
from ..settings import home
from ..untrusted.folder import UntrustedFolder

__all__ = ["FolderProcedures", "ProcedureStore", "Versions"]

_CURRENT = "current"


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a procedure.

    Attributes:
        numbers: Their numbers, oldest first; at least one.
        current: The one that the name alone means.
    """

    numbers: tuple[int, ...]
    current: int

    @property
    def newest(self) -> int:
        """The last one."""
        return self.numbers[-1]


class ProcedureStore(Protocol):
    """Where versions of procedures are kept. What is kept of a version never changes.

    All raise a `StorageError` where the place can't be used.
    """

    def place(self, name: str, version: int) -> str:
        """Return where a version is, for a person who looks for it."""
        ...

    def names(self) -> Sequence[str]:
        """Return the names of all procedures, in their order."""
        ...

    def versions(self, name: str) -> Versions | None:
        """Return the versions of a procedure; None if there are none."""
        ...

    def read(self, name: str, version: int) -> str | None:
        """Return the text of a version; None if it is gone.

        Raises:
            InputError: It can't be read.
        """
        ...

    def add(self, name: str, version: int, text: str) -> bool:
        """Keep a version, unless one of that number is there; say whether it was kept.

        One that is newer than all others is the current one from then on.
        """
        ...

    def choose(self, name: str, version: int) -> None:
        """Have the name mean a version until a newer one is added."""
        ...

    def remove(self, name: str) -> None:
        """Remove a procedure with all of its versions."""
        ...


class FolderProcedures:
    """Procedures in the data folder."""

    def __init__(self) -> None:
        self._root = home() / "procedures"

    def place(self, name: str, version: int) -> str:
        """Return the file of a version."""
        return str(self._file(name, version))

    def names(self) -> Sequence[str]:
        """Return the names of the folders that have a version."""
        with suppress(OSError):
            folders = (path.name for path in self._root.iterdir())
            return sorted(each for each in folders if re.fullmatch(NAME, each) and self._of(each))
        return []

    def versions(self, name: str) -> Versions | None:
        """Return the versions that have a file."""
        if not (numbers := self._of(name)):
            return None
        with suppress(OSError, ValueError):
            current = int((self._root / name / _CURRENT).read_text("utf-8"))
            if current in numbers:
                return Versions(numbers, current)
        return Versions(numbers, numbers[-1])

    def read(self, name: str, version: int) -> str | None:
        """Return the text of a file."""
        path = self._file(name, version)
        return read_text(path, "procedure") if path.exists() else None

    def add(self, name: str, version: int, text: str) -> bool:
        """Make a file."""
        folder = self._root / name
        try:
            make_folder(folder)
            UntrustedFolder(folder).create(self._file(name, version).name, text.encode())
            if version == max(self._of(name), default=version):
                (folder / _CURRENT).unlink(missing_ok=True)
        except FileExistsError:
            return False
        except OSError as error:
            raise storage_error(folder, len(text), error) from None
        return True

    def choose(self, name: str, version: int) -> None:
        """Write the number into its file."""
        path = self._root / name / _CURRENT
        try:
            write_atomically(path, f"{version}\n")
        except OSError as error:
            raise storage_error(path, 0, error) from None

    def remove(self, name: str) -> None:
        """Remove the folder."""
        folder = self._root / name
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise storage_error(folder, 0, error) from None

    def _of(self, name: str) -> tuple[int, ...]:
        with suppress(OSError):
            found = (path.stem for path in (self._root / name).glob("*.yaml"))
            return tuple(sorted(int(stem) for stem in found if stem.isdecimal()))
        return ()

    def _file(self, name: str, version: int) -> Path:
        return self._root / name / f"{version}.yaml"
