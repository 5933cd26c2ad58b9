"""An episode as a row, a selection as SQL conditions, and reading a log in batches."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from ...errors import InputError, MemoryStoreError
from ..episode import Episode, LogEntry, Selection, digest_of

if TYPE_CHECKING:
    from ..protocols import EpisodeLog

__all__ = [
    "COLUMNS",
    "JSON_COLUMNS",
    "Conditions",
    "PerThread",
    "as_json",
    "bytes_of_digest",
    "check_forgettable",
    "chunks",
    "conditions",
    "episode_of",
    "mentions",
    "read_batches",
    "values_of",
]


COLUMNS: tuple[str, ...] = (
    "schema_version", "namespace", "run", "step", "attempt", "objective", "task_type", "output",
    "prompt", "digest", "persona", "tier", "model", "revision", "cause", "decision", "rule",
    "succeeded", "category", "error", "gates", "input_tokens", "output_tokens", "started_at",
    "ended_at", "duration_s", "reward", "terms", "upstream", "downstream", "used", "artifact",
    "excerpt",
)  # fmt: skip
"""An episode's columns in the order of `values_of`: its fields and its prompt's digest."""

JSON_COLUMNS = frozenset({"gates", "terms", "upstream", "downstream", "used"})
"""Columns that hold lists or objects, as JSON."""

_LARGEST = 2**63 - 1
_T = TypeVar("_T")


class Conditions(NamedTuple):
    """SQL conditions, joined by AND, and the values of their placeholders."""

    sql: str
    values: tuple[Any, ...]


def values_of(episode: Episode) -> tuple[Any, ...]:
    """Return an episode's columns as plain values: lists and objects as such, the digest as bytes.

    Raises:
        InputError: A number is not finite, or larger than a database's integers.
    """
    plain: dict[str, Any] = episode.model_dump(mode="json")
    numbers = [*plain.items(), *plain["terms"].items()]
    for name, value in numbers:
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"Episode {episode.key}: {name} is {value}.", "Give a finite number.")
        if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
            raise InputError(f"Episode {episode.key}: {name} has more than 63 bits: {value}.")
    plain["gates"] = [
        {name: value for name, value in gate.items() if value is not None}
        for gate in plain["gates"]
    ]
    plain["digest"] = bytes.fromhex(digest_of(episode.prompt))
    return tuple(plain[name] for name in COLUMNS)


def episode_of(position: int, values: Sequence[Any]) -> Episode:
    """Read an episode from its columns; lists and objects may still be JSON.

    Raises:
        MemoryStoreError: The row isn't a valid episode.
    """
    fields = dict(zip(COLUMNS, values, strict=True))
    del fields["digest"]
    try:
        for name in JSON_COLUMNS:
            if isinstance(fields[name], str):
                fields[name] = from_json(fields[name])
        return Episode.model_validate(fields)
    except ValueError as error:
        what = error.errors()[0]["loc"] if isinstance(error, ValidationError) else error
        raise MemoryStoreError(
            f"Position {position} of the memory's log isn't a valid episode: {what}.",
            "It was changed by hand, or the disk is failing. To continue without it, forget its "
            f"run: {fields['run']}",
        ) from error


def as_json(value: Any) -> Any:
    """Write a list or an object as JSON; return anything else unchanged."""
    return to_json(value).decode() if isinstance(value, list | dict) else value


def conditions(namespace: str, which: Selection, mark: str) -> Conditions:
    """Write a selection as SQL, except `containing`: databases differ in how they ignore case.

    Args:
        namespace: The namespace of the episodes.
        which: The selection.
        mark: The placeholder of a value: `?` or `%s`.
    """
    asked = {
        "namespace =": namespace,
        "run =": which.run,
        "step =": which.step,
        "persona =": which.persona,
        "ended_at <": which.before,
    }
    held = {condition: value for condition, value in asked.items() if value is not None}
    return Conditions(" AND ".join(f"{name} {mark}" for name in held), tuple(held.values()))


def mentions(text: str, fields: Iterable[str]) -> bool:
    """Whether a field contains the text, ignoring case."""
    wanted = text.casefold()
    return any(wanted in field.casefold() for field in fields)


def check_forgettable(which: Selection) -> None:
    """Refuse to forget everything by mistake.

    Raises:
        InputError: The selection has no condition.
    """
    if which == Selection():
        raise InputError(
            "Nothing says what to forget.",
            "Name a run, a step, a persona, a time or a text, or ask for everything.",
        )


def bytes_of_digest(digest: str) -> bytes | None:
    """Return a digest's bytes; None if it is not hexadecimal."""
    try:
        return bytes.fromhex(digest)
    except ValueError:
        return None


def chunks(items: Sequence[_T], size: int = 500) -> Iterable[Sequence[_T]]:
    """Split items into the portions that one statement can take."""
    return (items[start : start + size] for start in range(0, len(items), size))


_BATCH = 1000


def read_batches(
    log: EpisodeLog, after: int = 0, last: int | None = None
) -> Iterator[list[LogEntry]]:
    """Yield the entries after a position, and up to `last` if given, in batches, in order.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    while last is None or after < last:
        entries = log.since(after, _BATCH)
        if last is not None:
            entries = [entry for entry in entries if entry.position <= last]
        if not entries:
            return
        yield entries
        after = entries[-1].position


# Resources of the process that this one was forked from; only `PerThread.get` adds them. Kept here
# so that they are never finalized: closing them in the child could harm the parent.
_inherited: list[object] = []


class _ThreadResource(Generic[_T]):
    """A resource that is closed when its thread ends."""

    def __init__(self, resource: _T, close: Callable[[_T], None]) -> None:
        self.resource = resource
        self.pid = os.getpid()
        self._close = close

    def close(self) -> None:
        if self.pid == os.getpid():
            self._close(self.resource)

    def __del__(self) -> None:
        self.close()


class PerThread(Generic[_T]):
    """Opens a resource for each thread that asks; closes it when the thread ends, or all together.

    Args:
        open_resource: Opens a resource.
        close_resource: Closes a resource, from any thread; may be called twice.
    """

    def __init__(
        self, open_resource: Callable[[], _T], close_resource: Callable[[_T], None]
    ) -> None:
        self._open = open_resource
        self._close = close_resource
        self._local = threading.local()
        self._all: weakref.WeakSet[_ThreadResource[_T]] = weakref.WeakSet()
        self.closed = False

    def get(self) -> _T:
        """Return this thread's resource."""
        held: _ThreadResource[_T] | None = getattr(self._local, "held", None)
        if held is not None and held.pid == os.getpid():
            return held.resource
        if held is not None:
            _inherited.append(held)
            self._all.discard(held)
        self._local.held = held = _ThreadResource(self._open(), self._close)
        self._all.add(held)
        return held.resource

    def drop(self) -> None:
        """Close this thread's resource; the next `get` opens another."""
        self._local.held = None

    def close(self) -> None:
        """Close the resources of all threads of this process."""
        self.closed = True
        for held in list(self._all):
            held.close()
