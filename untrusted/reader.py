"""A folder of others that is read file by file: what is wrong with one is said with its name."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from ..errors import RunDamagedError
from ..formats.json_text import read_object
from .folder import MOST_BYTES, MOST_TEXT_BYTES, UntrustedFolder

__all__ = ["FolderReader", "damage_of"]

_SHOWN = 100


@dataclass(frozen=True, slots=True)
class FolderReader:
    """Reads the files of a folder; a file that isn't there is no error."""

    folder: Path

    @property
    def files(self) -> UntrustedFolder:
        """Its files. Others may have written them: nothing opens them in another way."""
        return UntrustedFolder(self.folder)

    def has(self, name: str) -> bool:
        """Say whether a file is there.

        Raises:
            RunDamagedError: What is there is no file, or can't be looked at.
        """
        with self.readable(name):
            return self.files.has(name)

    def names(self, folder: str, suffix: str = "") -> list[str]:
        """Return the names in a folder that have an ending, sorted; none where it isn't there.

        Raises:
            RunDamagedError: It can't be read.
        """
        with self.readable(folder):
            found = self.files.names(folder)
        return [name for name in found if name.endswith(suffix)]

    def names_below(self, folder: str = "") -> list[str]:
        """Return the files in a folder and those below it, by their paths from it, sorted.

        Raises:
            RunDamagedError: A link is in it, or anything else but files and folders.
        """
        with self.readable(folder):
            return self.files.files(folder)

    @contextmanager
    def opened(self, name: str) -> Generator[BinaryIO | None]:
        """Open a file to read it; None where there is none.

        Raises:
            RunDamagedError: It can't be read.
        """
        with self.readable(name), ExitStack() as stack:
            file: BinaryIO | None = None
            with suppress(FileNotFoundError):
                file = stack.enter_context(self.files.opened(name))
            yield file

    def read_bytes(self, name: str, most: int = MOST_BYTES) -> bytes | None:
        """Return what a file holds; None where there is none.

        Raises:
            RunDamagedError: It can't be read, or has more than `most` bytes.
        """
        with self.readable(name):
            try:
                return self.files.read(name, most)
            except FileNotFoundError:
                return None

    def read(self, name: str) -> str | None:
        """Return a file's text; None where there is none.

        Raises:
            RunDamagedError: It is no UTF-8, or can't be read.
        """
        data = self.read_bytes(name, MOST_TEXT_BYTES)
        with self.readable(name):
            return None if data is None else data.decode()

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the object that a file holds; {} where there is no file.

        Raises:
            RunDamagedError: The file holds something else.
        """
        text = self.read(name)
        with self.readable(name):
            return {} if text is None else read_object(text)

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of a file of JSON lines; one that was cut off is passed over."""
        with suppress(RunDamagedError):
            for line in (self.read_bytes(name, MOST_TEXT_BYTES) or b"").split(b"\n"):
                with suppress(ValueError):
                    yield read_object(line.decode(errors="replace"))

    @contextmanager
    def readable(self, name: str) -> Generator[None]:
        """Turn what goes wrong while a file is read into an error that names the file.

        Raises:
            RunDamagedError: Something did.
        """
        try:
            yield
        except (OSError, ValueError) as error:
            raise self.damaged(name, error) from None

    def damaged(self, name: str, error: Exception) -> RunDamagedError:
        """Return what to say of a file that can't be read."""
        return RunDamagedError(f"{self.folder / name} is damaged: {damage_of(error)}.")


def damage_of(error: Exception) -> str:
    """Say in short what is wrong with a file that can't be read."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))[:_SHOWN]
        if first["type"] == "missing":
            return f"it has no {where}"
        return f"{where}: {first['msg']}" if where else first["msg"]
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1:,} is not UTF-8"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
