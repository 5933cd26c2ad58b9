"""`prefect-swarm memory export` and `import`: episodes as JSON lines."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from pydantic import ValidationError

from ...errors import InputError
from ...formats.json_text import read_object
from ...memory.configured import open_configured_store
from ...memory.episode import SCHEMA_VERSION, Episode
from ...text import escaped, one_line, plural
from ...text_files import encoding_problem, file_problem
from ...untrusted.folder import bounded_lines
from ..command import AsJson
from ..output.printing import print_json, print_text
from ..progress.session import say
from .options import Namespace, entries_of

__all__ = ["export", "read_in"]

_NAMED = 10
_MOST_BAD = 1000
_LINE_BYTES = 16 << 20
_FIX = "Fix or remove them, and import it again."


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - is standard output.")],
    namespace: Namespace = "default",
) -> int:
    """Write every episode of a namespace as JSON, one a line, in the order of the log."""
    count = 0
    with open_configured_store() as store, _written(file) as out:
        for _, episode in entries_of(store.log, namespace):
            out.write(escaped(episode.model_dump_json()).encode() + b"\n")
            count += 1
    say(f"{plural(count, 'episode')} of namespace {namespace!r} written.")
    return 0


def read_in(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where from; - is standard input.")],
    namespace: Annotated[
        str | None, typer.Option("--namespace", help="Whose they become; else whose they were.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Read what `export` wrote. Episodes that are there stay; with a bad line nothing is read."""
    from ...memory.log.rows import values_of

    episodes: list[Episode] = []
    bad: list[str] = []
    with _read(file) as lines:
        for number, line in enumerate(bounded_lines(lines, _LINE_BYTES), start=1):
            if not line.strip():
                continue
            if len(line) == _LINE_BYTES:
                most = _LINE_BYTES >> 20
                raise InputError(f"Line {number} of {_name(file)} has {most} MiB or more.", _FIX)
            if len(bad) == _MOST_BAD:
                break
            try:
                episode = _episode(line, namespace)
                values_of(episode)  # what a database can't hold is refused here, by its line
            except InputError as error:
                bad.append(f"line {number}: {error}")
            else:
                episodes.append(episode)
    if bad:
        raise InputError(_refused(file, bad), _FIX)
    with open_configured_store() as store:
        new = store.log.append(episodes)
    if as_json:
        print_json({"read": len(episodes), "imported": new, "there_already": len(episodes) - new})
    else:
        print_text(
            f"{plural(new, 'episode')} imported, {len(episodes) - new:,} were there already."
        )
    return 0


def _episode(line: bytes, namespace: str | None) -> Episode:
    if (wrong := encoding_problem(line)) is not None:
        raise InputError(f"it is not UTF-8 text: {wrong}")
    try:
        read_object(line)  # What readers understand differently is refused.
    except ValueError as error:
        raise InputError(one_line(str(error), 200)) from None
    try:
        episode = Episode.model_validate_json(line)
        if namespace is not None:
            # Checked again: a copy's fields wouldn't be.
            episode = Episode.model_validate({**dict(episode), "namespace": namespace})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{where}: {first['msg']}" if where else str(first["msg"])) from None
    if episode.schema_version > SCHEMA_VERSION:
        raise InputError(
            f"schema_version: {episode.schema_version} is newer than {SCHEMA_VERSION}, which this "
            "installation knows"
        )
    return episode


def _refused(file: str, bad: list[str]) -> str:
    named = "; ".join(one_line(message, 200) for message in bad[:_NAMED])
    more = f"; and {len(bad) - _NAMED:,} more" if len(bad) > _NAMED else ""
    what = plural(len(bad), "line")
    return (
        f"Nothing was imported: {what} of {_name(file)} can't be read as an episode: {named}{more}."
    )


def _name(file: str) -> str:
    return "standard input" if file == "-" else file


@contextmanager
def _read(file: str) -> Generator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as lines:
            yield lines
    except OSError as error:
        raise file_problem(f"file {file}", error) from None


@contextmanager
def _written(file: str) -> Generator[BinaryIO]:
    """A file that appears whole or not at all; only its owner may read it."""
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".export-")
    except OSError as error:
        raise _unwritable(file, error) from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
        temporary.replace(path)
    except OSError as error:
        raise _unwritable(file, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def _unwritable(file: str, error: OSError) -> InputError:
    return InputError(f"The file {file} can't be written: {error}.", "Check the path and the disk.")
