"""The pictures of a run's tools, as files of its folder: each once, by what it holds."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import PurePosixPath

from pydantic_ai.messages import BinaryContent

from ...errors import RunDamagedError, StorageError
from ...runs import RunFolder
from .pictures import MOST_PICTURES, picture_of, pictures_in

__all__ = ["ForModel", "PictureFiles"]

ForModel = str | list[str | BinaryContent]
"""What a model gets of a call: a text, or a text and pictures."""
_logger = logging.getLogger("prefect_swarm.tools")
_FOLDER = "calls/pictures"
_NOT_SHOWN = "[You read text alone, so that pictures aren't shown to you.]"


class PictureFiles:
    """Keeps pictures, and shows them."""

    def __init__(self, run: RunFolder, *, shown: bool = True) -> None:
        """Take the run's folder, and whether a model is shown them."""
        self._run, self._is_shown = run, shown

    def keep(self, value: object) -> tuple[str, ...]:
        """Write the pictures of a tool's result, and return their names."""
        names: list[str] = []
        for picture in pictures_in(value)[:MOST_PICTURES]:
            try:
                self._run.write(f"{_FOLDER}/{picture.identifier}", picture.data)
            except StorageError as error:
                _logger.warning("A picture is not kept: %s", error)
            else:
                names.append(picture.identifier)
        return tuple(names)

    def read(self, name: str) -> bytes | None:
        """Return what a picture holds; None if it is gone, or nobody is shown it."""
        if not self._is_shown or PurePosixPath(name).name != name:
            return None
        with suppress(RunDamagedError):
            return self._run.read_bytes(f"{_FOLDER}/{name}")
        return None

    def result(self, text: str, names: tuple[str, ...]) -> ForModel:
        """Return what a model gets of a call with that text and these pictures."""
        if not names:
            return text
        if not self._is_shown:
            return f"{text}\n{_NOT_SHOWN}"
        data = [found for name in names if (found := self.read(name)) is not None]
        pictures = [picture_of(BinaryContent(each, media_type="image/png")) for each in data]
        return [text, *(each for each in pictures if each is not None)]
