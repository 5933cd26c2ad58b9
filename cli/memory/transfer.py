"""`prefect-swarm memory export`, `import` and `forget`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer
from pydantic import ValidationError

from ...errors import ExitCode, InputError
from ...files import encoding_problem, file_problem
from ...memory.episode import SCHEMA_VERSION, Episode
from ...memory.erasure import (
    Traces,
    check_everywhere,
    find_traces,
    make_selection,
    resolve_selection,
    short_run,
)
from ...memory.store import open_configured_store
from ...text import escaped, one_line, plural
from ...untrusted.folder import bounded_lines
from ...untrusted.json_text import read_object
from ..command import AsJson
from ..terminal.printing import print_json, print_table, print_text
from ..terminal.session import say
from .options import EmbedderName, Namespace, entries_of

if TYPE_CHECKING:
    from ...memory.erasure import RemovedTraces, ResolvedSelection
    from ...memory.forgetting import Forgotten

__all__ = ["asks", "counted", "export", "forget", "read_in", "show_done", "show_meant"]


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


_SHOWN = 10


def show_meant(meant: ResolvedSelection) -> None:
    """Print the runs of which attempts are meant."""
    runs = Counter(short_run(entry.episode.run) for entry in meant.entries)
    first = {short_run(entry.episode.run): entry.episode for entry in reversed(meant.entries)}
    if runs:
        print_table(
            ("Run", "Attempts", "Objective or prompt"),
            (
                (run, f"{count:,}", one_line(first[run].objective or first[run].prompt, 200))
                for run, count in runs.most_common(_SHOWN)
            ),
            right=frozenset({"Attempts"}),
        )
    if len(runs) > _SHOWN:
        print_text(f"… and {plural(len(runs) - _SHOWN, 'more run')}")


def show_done(done: Forgotten) -> None:
    """Print what was removed, and what isn't this command's to remove."""
    print_text(f"Forgotten: {counted(done.episodes, done.personas, done.elsewhere)}.")
    if (elsewhere := done.elsewhere) is None:
        print_text(
            "Other files of runs stay, unless --everywhere is given: their folders in runs, "
            "cached gate results, stored prompts, Prefect's results; and what Prefect's server "
            "stores."
        )
        return
    for run in elsewhere.executed:
        print_text(f"Run {run} is being executed and stays. When it has ended, forget it again.")
    print_text(
        "What Prefect's server stores of flow runs stays: prefect flow-run delete ID. So do "
        "exports and backups."
    )


def counted(episodes: int, invented: tuple[str, ...], traces: Traces | RemovedTraces | None) -> str:
    """Say how much that is."""
    personas = f" and the invented {', '.join(invented)}" if invented else ""
    text = f"{plural(episodes, 'episode')}{personas}"
    if traces is None:
        return text
    found = {
        "run folder": traces.runs,
        "stored result": traces.results,
        "cached gate result": traces.gates,
        "stored prompt": traces.prefixes,
    }
    counts = {
        name: many if isinstance(many, int) else len(many) for name, many in found.items() if many
    }
    return "; ".join([text, *(plural(count, name) for name, count in counts.items())])


def forget(
    run: Annotated[str | None, typer.Option(help="All of this run.")] = None,
    step: Annotated[str | None, typer.Option(help="Of this step.")] = None,
    persona: Annotated[str | None, typer.Option(help="By this persona.")] = None,
    before: Annotated[
        str | None, typer.Option(metavar="DATE", help="Ended before: 2026-01-31[T12:00[+01:00]].")
    ] = None,
    containing: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Prompt, objective, error or artifact has this text."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All of the namespace, and nothing else.")
    ] = False,
    everywhere: Annotated[
        bool,
        typer.Option(
            "--everywhere",
            help="Outside the memory too: run folders, Prefect's local results of these runs, "
            "cached gate results.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    namespace: Namespace = "default",
    embedder: EmbedderName = "wordllama",
    as_json: AsJson = False,
) -> int:
    """Remove episodes for good: texts, vectors, graph, evidence. All conditions have to hold."""
    from ...memory.forgetting import forget_selection

    time = None if before is None else _time(before)
    which = make_selection(run, step, persona, time, containing, everything=everything, mark="--")
    if everywhere:
        check_everywhere(which, "--")
    with open_configured_store(embedder) as store:
        meant = resolve_selection(store, namespace, which)
        traces = find_traces(namespace, meant.which) if everywhere else Traces()
        if (meant or traces) and not yes:
            what = counted(len(meant.entries), meant.personas, traces)
            if as_json or not asks():
                raise InputError(
                    f"{what} would be forgotten, and there is no terminal to confirm it on.",
                    "Nothing was removed. Give --yes to remove it without confirmation.",
                )
            show_meant(meant)
            print_text(f"{what} will be forgotten for good.")
            if not _agreed():
                print_text("Nothing was removed.")
                return ExitCode.FAILED
        done = forget_selection(store, meant, traces if everywhere else None)
    if as_json:
        record = asdict(done)
        print_json({"forgotten": record.pop("episodes"), **record})
    elif not meant and not traces:
        print_text("Nothing in the memory is meant; nothing was removed.")
    else:
        show_done(done)
    return 0


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"--before got {text!r}, which is not a date.",
            "Write 2026-01-31, 2026-01-31T12:00 (this machine's time) or 2026-01-31T12:00Z.",
        ) from None


def asks() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty()


def _agreed() -> bool:
    try:
        return typer.confirm("Forget them?", err=True)
    except typer.Abort:
        return False
