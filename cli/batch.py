"""`prefect-swarm batch`: many objectives from one file."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from ..errors import InputError
from ..exit_codes import ExitCode
from ..flows.control import controlled
from ..flows.options import SwarmOptions
from ..flows.temporary_server.server import Server, prefect_server
from ..inputs.reading import read_paths
from ..text import one_line, plural
from ..text_files import read_text
from .models import check_models
from .progress.interruption import interruptible
from .progress.session import say, waiting
from .source import Files

if TYPE_CHECKING:
    from ..flows.batch import BatchLine

__all__ = ["batch"]

_Run = Callable[[Iterable[str], SwarmOptions, int], "AsyncGenerator[BatchLine]"]


def batch(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.jsonl", help="One objective or plan a line; - is stdin.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write the results here.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, help="Lines that run at once.")
    ] = 1,
    inputs: Files = None,
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
) -> int:
    """Run every line of a file; the results are JSON, one line each, in the file's order."""
    texts = read_paths(inputs or ())
    lines = _read(file)
    if output is not None and output.resolve() == file.resolve():
        raise InputError(f"The output {output} is the input too.", "Give another path.")
    if not any(line.strip() for line in lines):
        raise InputError(f"{file} has no lines.", "Write one objective or plan a line.")
    asyncio.run(check_models(options, orchestrated=True))
    server = prefect_server(say)
    with _opened(output) as sink:
        with waiting("Starting"):
            from ..flows.batch import run_batch

            server.wait()
        ended = asyncio.run(_each(run_batch, lines, texts, options, concurrency, server, sink))
    say(
        f"{plural(ended.total(), 'line')}: " + ", ".join(f"{n} {name}" for name, n in ended.items())
    )
    if ended["completed"] == ended.total():
        return ExitCode.COMPLETED
    return ExitCode.PARTIAL if ended["completed"] or ended["partial"] else ExitCode.FAILED


async def _each(
    run: _Run,
    lines: list[str],
    texts: Mapping[str, str],
    options: SwarmOptions,
    concurrency: int,
    server: Server,
    sink: TextIO,
) -> Counter[str]:
    from prefect.exceptions import TerminationSignal

    from ..flows.given.inputs import inputs_given

    ended = Counter[str]()
    async with interruptible(server, say) as interruption:
        try:
            with controlled(interruption.control), inputs_given(texts):
                async with aclosing(run(lines, options, concurrency)) as stream:
                    async for line in stream:
                        print(line.to_json(), file=sink, flush=True)
                        ended[_status(line)] += 1
                        say(_told(line))
        except TerminationSignal:
            # A flow run took the signal before it was under way.
            interruption.terminated = True
            interruption.control.cancel.set()
    if interruption.control.cancel.is_set():
        raise interruption.error(
            f"Cancelled after {plural(ended['completed'], 'completed line')}",
            "Each run that was under way can be resumed; run the other lines again.",
        )
    return ended


def _status(line: BatchLine) -> str:
    return line.result.status if line.result is not None else "failed"


def _told(line: BatchLine) -> str:
    run = f"run {line.result.run_id}: " if line.result is not None else ""
    status = _status(line)
    why = line.error or (line.result.problem if line.result is not None else "")
    return f"Line {line.number}: {run}{status}{f': {one_line(why, 300)}' if why else ''}"


def _read(path: Path) -> list[str]:
    # Not splitlines, which also splits at characters that JSON allows inside a string.
    return read_text(path).split("\n")


def _opened(output: Path | None) -> TextIO | nullcontext[TextIO]:
    if output is None:
        return nullcontext(sys.stdout)
    try:
        return output.open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"The output {output} can't be written: {error.strerror}.", "Give another path."
        ) from None
