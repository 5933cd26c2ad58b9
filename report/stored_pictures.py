"""Pictures of a step, written anew for its pages: nothing but the pixels of what others made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath

from ..errors import InputError, RunDamagedError
from ..host.bounded import ProcessBounds
from ..inputs.pictures import Picture, is_picture, read_picture
from ..store.protocol import RunStore, picture_stem
from ..store.step import StepState
from .page import StepPicture

__all__ = [
    "IN_DOCUMENT",
    "IN_NOTEBOOK",
    "ON_PAGE",
    "PictureBounds",
    "PictureRoom",
    "step_pictures",
]


@dataclass(frozen=True, slots=True)
class PictureBounds:
    """What a page, or a document with many steps, has of pictures at most.

    Attributes:
        of_step: Pictures of a step.
        number: Pictures of all steps together.
        side: Pixels of a picture's longer side.
        bytes_each: Bytes of a picture.
        bytes_of_all: Bytes of all steps' pictures. In base 64 they take a third more.
    """

    of_step: int
    number: int
    side: int
    bytes_each: int
    bytes_of_all: int


ON_PAGE = PictureBounds(4, 4, side=900, bytes_each=100_000, bytes_of_all=225_000)
"""Of a step's page in the Prefect UI, which loads all of a page's Markdown at once."""
IN_DOCUMENT = PictureBounds(8, 40, side=1200, bytes_each=250_000, bytes_of_all=3_000_000)
IN_NOTEBOOK = PictureBounds(4, 8, side=640, bytes_each=60_000, bytes_of_all=300_000)

_LEAST_BYTES = 2_000
"""With less room a picture shows nothing any more."""
_PROCESS = ProcessBounds(5.0, answer_bytes=2 << 20)
_MOST_READ = 16 << 20
"""Bytes of a file that is read for a page."""
_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif"})
_NO_ROOM = "there is no room for more pictures"

Draw = Callable[[bytes, int, int], Picture]
"""Writes a picture anew: its file, the pixels of a side and the bytes that it may have."""


def _written_anew(data: bytes, side: int, most_bytes: int) -> Picture:
    return read_picture(data, "file", _PROCESS, side=side, most_bytes=most_bytes)


@dataclass(slots=True)
class PictureRoom:
    """The room that is left for pictures; each that is drawn takes some."""

    bounds: PictureBounds
    draw: Draw = _written_anew
    _number: int = field(init=False, default=0)
    _bytes: int = field(init=False, default=0)

    def fill(
        self, found: Sequence[tuple[StepPicture, Callable[[], bytes | None]]]
    ) -> tuple[StepPicture, ...]:
        """Draw the first pictures of a step that there is room for; the others say why they aren't.

        Args:
            found: The pictures, each with what reads its file.
        """
        shown: list[StepPicture] = []
        for place, (picture, read) in enumerate(found):
            made = self._made(read) if place < self.bounds.of_step else _NO_ROOM
            is_drawn = isinstance(made, Picture)
            shown.append(replace(picture, drawn=made) if is_drawn else replace(picture, why=made))
        return tuple(shown)

    def _made(self, read: Callable[[], bytes | None]) -> Picture | str:
        room = min(self.bounds.bytes_each, self.bounds.bytes_of_all - self._bytes)
        if self._number >= self.bounds.number or room < _LEAST_BYTES:
            return _NO_ROOM
        # What can't be read takes as long as what can.
        self._number += 1
        if (data := read()) is None or len(data) > _MOST_READ:
            return "its file is gone" if data is None else "its file is too large"
        try:
            made = self.draw(data, self.bounds.side, room)
        except InputError as error:
            why = error.problem.rstrip(".")
            return f"{why[:1].lower()}{why[1:]}"
        if len(made.data) > room:
            return _NO_ROOM
        self._bytes += len(made.data)
        return made


def step_pictures(
    run: RunStore, step: StepState, room: PictureRoom | None = None
) -> tuple[StepPicture, ...]:
    """Return the pictures that the code of a step's last attempt left, and that its calls returned.

    One that was returned and left is there once, under the name that the code gave it.

    Args:
        run: The run's folder.
        step: The step, with its attempts so far.
        room: What they are drawn in; None for their names alone.

    Raises:
        RunDamagedError: The files that it left can't be read.
    """
    left = _left(run, step)
    known = {picture_stem(data) for _, data in left}
    found = [(picture, partial(bytes, data)) for picture, data in left]
    found += [
        (_returned(run, name, tool), partial(_read, run, name))
        for name, tool in step.pictures.items()
        if PurePosixPath(name).stem not in known
    ]
    return room.fill(found) if room else tuple(picture for picture, _ in found)


def _left(run: RunStore, step: StepState) -> list[tuple[StepPicture, bytes]]:
    files = run.artifacts(step)
    if not any(PurePosixPath(path).suffix.lower() in _SUFFIXES for path in files):
        return []  # A step may leave many megabytes, and most leave no picture.
    return [
        (StepPicture(path, "a file that it left", files[path].place), data)
        for path, data in run.read_artifacts(step).items()
        if is_picture(data)
    ]


def _returned(run: RunStore, name: str, tool: str) -> StepPicture:
    return StepPicture(name, f"returned by {tool}", run.place("picture", name))


def _read(run: RunStore, name: str) -> bytes | None:
    with suppress(RunDamagedError):
        return run.picture(name)
    return None
