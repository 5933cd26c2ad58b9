"""The files of a run: written whole, and as soon as there is room for them."""

from __future__ import annotations

import json
import logging
from abc import abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ..errors import StorageError
from ..files import UNFINISHED, is_unfinished_write, storage_error
from ..untrusted.folder import FileReader

__all__ = ["RunFiles"]

Content = str | bytes | BaseModel | dict[str, Any] | list[Any]

_logger = logging.getLogger("prefect_swarm.runs")
_unstored: dict[str, dict[str, bytes]] = {}
"""What there was no room for, by the run's place and the file's name, until there is."""


class RunFiles(FileReader):
    """Reads and writes the files of a run, by their paths."""

    __slots__ = ()

    @property
    @abstractmethod
    def run_id(self) -> str:
        """The short name."""

    @property
    def _pending(self) -> dict[str, bytes]:
        """What can't be written yet."""
        return _unstored.get(self.where(), {})

    def write(self, name: str, content: Content) -> str:
        """Write a file of the run and return its reference, the path below the runs' home.

        Raises:
            StorageError: It can't be written; what was there before stays.
        """
        data = _data(content)
        try:
            self.files.replace(name, data)
        except OSError as error:
            raise storage_error(Path(self.where(name)), len(data), error) from error
        self._pending.pop(name, None)
        return f"{self.run_id}/{name}"

    def store(self, name: str, content: Content) -> str:
        """Write a file of the run, now or as soon as there is room for it; return its reference.

        What can't be written is kept in memory, and written together with the next file.
        """
        self.store_pending()
        try:
            return self.write(name, content)
        except StorageError as error:
            if not self.unstored():
                _logger.warning("%s The run goes on, and tries again.", error)
            _unstored.setdefault(self.where(), {})[name] = _data(content)
            return f"{self.run_id}/{name}"

    def store_pending(self) -> tuple[str, ...]:
        """Try once more to write what could not be written; return the names of what can't be."""
        for name in self.unstored():
            with suppress(StorageError):
                if (data := self._pending.get(name)) is not None:
                    self.write(name, data)
        return self.unstored()

    def unstored(self) -> tuple[str, ...]:
        """The names of the files that could not be written yet."""
        return tuple(self._pending.copy())  # Files are stored in threads too.

    def remove_temporary_files(self) -> None:
        """Remove what a process left that was killed while it wrote; the run's lock is held."""
        for name in self.names_below():
            own = Path(name)
            # Answers are written without the lock: those that are just being written stay.
            if own.name.startswith(".") or (own.suffix == UNFINISHED and is_unfinished_write(own)):
                self.remove(name)

    def create(self, name: str, content: Content) -> None:
        """Write a file that isn't there yet: whole, and only the first of several.

        Raises:
            FileExistsError: It is there.
            StorageError: It can't be written.
        """
        data = _data(content)
        try:
            self.files.create(name, data)
        except FileExistsError:
            raise
        except OSError as error:
            raise storage_error(Path(self.where(name)), len(data), error) from error

    def append(
        self, name: str, content: BaseModel | dict[str, Any] | str, *, durable: bool = False
    ) -> None:
        """Add a line to a file, of JSON where it isn't a text.

        Args:
            durable: Whether it is on the disk when this returns, whatever becomes of the machine.

        Raises:
            StorageError: It can't be written.
        """
        if isinstance(content, BaseModel):
            line = content.model_dump_json()
        else:
            line = content if isinstance(content, str) else json.dumps(content)
        try:
            self.files.append_line(name, line, durable=durable)
        except OSError as error:
            raise storage_error(Path(self.where(name)), len(line), error) from error

    def remove(self, name: str) -> None:
        """Remove a file; nothing is wrong where there is none.

        Raises:
            StorageError: It can't be removed.
        """
        try:
            self.files.remove(name)
        except OSError as error:
            raise storage_error(Path(self.where(name)), 0, error) from error


def _data(content: Content) -> bytes:
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, BaseModel):
        return content.model_dump_json(indent=2).encode()
    return json.dumps(content, indent=2).encode()
