"""`prefect-swarm batch`: many objectives from one file."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping
from contextlib import AbstractContextManager, aclosing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from ..errors import ExitCode, InputError
from ..files import read_text
from ..flows.control import called_with, controlled
from ..flows.options import SwarmOptions
from ..flows.prefect_io.temporary_server import Server, prefect_server
from ..flows.readings import REPEATED_TOKENS, input_tokens, input_words
from ..inputs.reading import reading_notes
from ..metrics.clock import run_time
from ..models.names import FREE, price_of_name
from ..report.batch_board import batch_words
from ..store.losses import lost_of, lost_words
from ..store.result import SwarmResult
from ..text import dollars, one_line, plural
from .process import spinner_name
from .source import Exclude, Files, check_models, read_named_files, with_excluded
from .terminal.interruption import interruptible
from .terminal.session import say, waiting

if TYPE_CHECKING:
    from ..flows.batch_files import BatchLine, PrintedOutput
    from ..flows.batch_run import BatchListener
    from ..report.batch_board import BatchBoard

__all__ = ["batch"]

_Run = Callable[..., "AsyncGenerator[BatchLine]"]
_PASSED_OVER = "{} passed over: completed in the output. With --again they are done once more."


def batch(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.jsonl", help="One objective or plan a line; - is stdin.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write the results here.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, help="Lines to run in parallel.")
    ] = 1,
    again: Annotated[
        bool,
        typer.Option("--again", help="Do all lines, also those that the output has as completed."),
    ] = False,
    shared: Annotated[
        str,
        typer.Option(
            "--shared",
            metavar="NAME",
            help="Do the lines together with other machines that give this name: each line once.",
        ),
    ] = "",
    inputs: Files = None,
    exclude: Exclude = None,
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
) -> int:
    """Run every line of a file; the results are JSON, one line each, in the file's order.

    Lines that are completed in the output are skipped; runs that had begun are
    resumed.
    """
    options = with_excluded(options, exclude)
    with waiting("Reading"):
        read = read_named_files(inputs or (), exclude or ())
    for note in reading_notes(read) if inputs else ():
        say(note)
    texts = read.texts
    lines = _read(file)
    _say_inputs(texts, sum(bool(line.strip()) for line in lines), options)
    if output is not None and output.resolve() == file.resolve():
        raise InputError(f"The output {output} is the input too.", "Give another path.")
    if not any(line.strip() for line in lines):
        raise InputError(f"{file} has no lines.", "Write one objective or plan a line.")
    asyncio.run(check_models(options, orchestrated=True))
    server = prefect_server(say)
    if shared and server.process is not None:
        raise InputError(
            "A batch that machines share needs a Prefect server that all of them reach.",
            "Set PREFECT_API_URL to its address.",
        )
    with waiting("Starting"):
        from ..flows.batch_run import run_batch

        server.wait()
    run: _Run = partial(run_batch, shared=shared)
    ended = asyncio.run(_each(run, lines, texts, options, concurrency, server, output, again))
    say(
        f"{plural(ended.total(), 'line')}: " + ", ".join(f"{n} {name}" for name, n in ended.items())
    )
    if ended["completed"] == ended.total():
        return ExitCode.COMPLETED
    has_answers = ended["completed"] or ended["partial"] or ended[_NOT_WHOLE]
    return ExitCode.PARTIAL if has_answers else ExitCode.FAILED


def _say_inputs(texts: Mapping[str, str], lines: int, options: SwarmOptions) -> None:
    """Say what every line gets to read, and what that comes to."""
    if not texts:
        return
    tokens = input_tokens(texts)
    say(f"Each of {plural(lines, 'line')} gets {input_words(texts)}.")
    if tokens * (lines - 1) >= REPEATED_TOKENS:
        price = price_of_name(options.model_of("worker"))
        usd = f", {dollars(price.input_usd * tokens * lines)}" if price and price != FREE else ""
        say(f"That is {tokens * lines:,} tokens{usd} if a step of each line reads them all.")


async def _each(
    run: _Run,
    lines: list[str],
    texts: Mapping[str, str],
    options: SwarmOptions,
    concurrency: int,
    server: Server,
    path: Path | None,
    again: bool,
) -> Counter[str]:
    from prefect.exceptions import TerminationSignal

    ended = Counter[str]()
    async with interruptible(server, say) as interruption:
        try:
            with (
                controlled(interruption.control),
                called_with(inputs=texts),
                _opened(path, lines, options, again=again) as output,
            ):
                if count := len(output.passed_over):
                    say(_PASSED_OVER.format(plural(count, "line")))
                # Results that are printed on the same terminal would be among it.
                live = sys.stderr.isatty() and (path is not None or not sys.stdout.isatty())
                with _shown(output.passed_over, live=live) as listener:
                    stream = run(lines, options, concurrency, output, listener=listener)
                    async with aclosing(stream):
                        async for line in stream:
                            output.add(line)
                            ended[_status(line)] += 1
                output.finish()
        except TerminationSignal:
            # A flow run took the signal before it was under way.
            interruption.terminated = True
            interruption.control.cancel.set()
    if interruption.control.cancel.is_set():
        raise interruption.error(
            f"Cancelled after {plural(ended['completed'] + ended[_NOT_WHOLE], 'completed line')}",
            "Start it again with the same output: it goes on with the lines that are left.",
        )
    return ended


@contextmanager
def _shown(passed_over: Collection[str], *, live: bool) -> Generator[BatchListener]:
    """Yield what writes a line for each that has ended.

    Args:
        passed_over: The keys of those that an earlier start completed.
        live: Whether a line below says how far the batch is.
    """
    console = Console(stderr=True, markup=False, emoji=False)
    how_far = _HowFar()

    def show(board: BatchBoard, ended: BatchLine | None) -> None:
        how_far.board = board
        if ended is not None and ended.key not in passed_over:
            say(_line_text(ended))

    with console.status(how_far, spinner=spinner_name()) if live else nullcontext():
        yield show


class _HowFar:
    """Words that are made when a terminal draws them: a batch may have thousands of lines."""

    board: BatchBoard | None = None

    def __rich__(self) -> Text:
        return Text(batch_words(self.board, run_time()) if self.board else "")


_NOT_WHOLE = "completed with something missing"


def _status(line: BatchLine) -> str:
    if line.result is None:
        return "failed"
    status = line.result.status
    return _NOT_WHOLE if status == "completed" and lost_of(line.result.steps) else status


def _line_text(line: BatchLine) -> str:
    run = f"run {line.result.run_id}: " if line.result is not None else ""
    status = _status(line)
    why = line.error or (_trouble(line.result) if line.result is not None else "")
    return f"Line {line.number}: {run}{status}{f': {one_line(why, 300)}' if why else ''}"


def _trouble(result: SwarmResult) -> str:
    return " ".join(filter(None, [result.problem, lost_words(lost_of(result.steps))]))


def _read(path: Path) -> list[str]:
    # Not splitlines, which also splits at characters that JSON allows inside a string.
    return read_text(path).split("\n")


def _opened(
    path: Path | None, lines: list[str], options: SwarmOptions, *, again: bool
) -> AbstractContextManager[PrintedOutput]:
    from ..flows.batch_files import PrintedOutput, batch_output
    from ..flows.batch_run import lines_by_key

    if path is None:
        return nullcontext(PrintedOutput(sys.stdout))
    if path.exists() and not path.is_file():
        # A pipe or a device has nothing to go on with.
        return _streamed(path)
    final = path.resolve()
    return batch_output(final, final, lines_by_key(lines, options), again=again)


@contextmanager
def _streamed(path: Path) -> Generator[PrintedOutput]:
    from ..flows.batch_files import PrintedOutput

    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"The output {path} can't be written: {error.strerror}.", "Give another path."
        ) from None
    with file:
        yield PrintedOutput(file)
