"""The files of a batch: its lines, its output, and which run each line began."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from pydantic import ConfigDict, Field, ValidationError

from ..data_types import Frozen
from ..errors import InputError
from ..files import READABLE, replace_atomically
from ..gates import gates
from ..plan.procedure import ParameterValue
from ..plan.procedure_steps import resolve
from ..plan.task_ir import Agent, PlanRules, TaskIR, describe, parse_plan
from ..store.procedures import find_procedure
from ..store.result import SwarmResult
from ..text import escaped, without_surrogates
from ..untrusted.folder import MOST_TEXT_BYTES, UntrustedFolder, bounded_lines, read_file
from ..untrusted.json_text import NoJsonError, read_json, read_object
from ..untrusted.opening import is_plain_name, require_size
from .options import SwarmOptions, within_bounds

__all__ = [
    "BatchJob",
    "BatchLine",
    "BatchOutput",
    "PrintedOutput",
    "batch_output",
    "has_started",
    "is_completed",
    "line_keys",
    "read_line",
]


_FORMS = (
    'Write {"objective": …}, {"plan": {…}}, {"procedure": NAME}, a plan, a string, or '
    '{"prompt_template": …, "items": […]}; each object may have "options", and '
    'all but a plan "inputs" and "files".'
)


class _Strict(Frozen):
    model_config = ConfigDict(strict=True)


class _Given(_Strict):
    inputs: dict[str, str] = Field(default_factory=dict[str, str])
    files: list[str] = Field(default_factory=list[str])


class _Job(_Given):
    objective: str | None = Field(default=None, min_length=1)
    plan: dict[str, Any] | str | None = None


class _Mapped(_Given):
    prompt_template: str
    items: list[str]
    join: str | None = None
    objective: str | None = None
    agent: Agent | None = None


class _Procedure(_Given):
    procedure: str
    parameters: dict[str, ParameterValue] = Field(default_factory=dict[str, ParameterValue])


class BatchJob(_Given):
    """A line that was understood."""

    objective: str
    plan: TaskIR | None
    options: SwarmOptions


class BatchLine(Frozen):
    """How a line ended. `number` counts the file's lines from 1; `error` is empty if it went well.

    A run in which no step succeeded has both a result and an error. `key` is the same for the same
    line with the same options, wherever it stands.
    """

    number: int
    key: str = ""
    result: SwarmResult | None = None
    error: str = ""

    def to_json(self) -> str:
        """Return it as one line of JSON."""
        return escaped(self.model_dump_json())


def read_line(text: str, options: SwarmOptions) -> BatchJob:
    """Understand one line.

    Args:
        text: JSON: an objective as a string, an object with an `objective` or a `plan` (whose
            objective it has then), a plan, a `procedure` with `parameters`, or a `prompt_template`
            with `items`. An object's `options` go before the batch's, and both before the bounds
            of a procedure; its `inputs` are texts by name, its `files` paths in storage blocks.
        options: The batch's options.

    Raises:
        InputError: It is none of these, or its options are wrong.
        PlanError: Its plan breaks a rule.
    """
    data = _parse(text)
    if isinstance(data, str):
        data = {"objective": data}
    if not isinstance(data, dict):
        raise InputError(f"The line is {_kind(data)}.", _FORMS)
    line = cast("dict[str, Any]", data)
    try:
        options = _override(options, line.pop("options", {}))
        if "procedure" in line and "steps" not in line:
            return _of_procedure(_Procedure.model_validate(line), options)
        objective, plan, given = _understand(line, options)
    except ValidationError as error:
        problems = "; ".join(describe(error, line))
        raise InputError(f"The line is wrong: {problems}.", _FORMS) from None
    return BatchJob(
        objective=objective,
        plan=plan,
        options=options,
        inputs=given.inputs,
        files=given.files,
    )


def _parse(text: str) -> object:
    try:
        return without_surrogates(read_json(text, halves=True))
    except NoJsonError as error:
        raise InputError(f"The line is not JSON: {error}.", _FORMS) from None


def _override(options: SwarmOptions, own: object) -> SwarmOptions:
    if not isinstance(own, dict):
        raise InputError(f'"options" is {_kind(own)}.', "Make it an object.")
    if "options_block" in (fields := cast("dict[str, Any]", own)):
        raise InputError("A line names an options_block.", "Name it among the batch's options.")
    return SwarmOptions.model_validate({**options.model_dump(), **fields})


def _of_procedure(asked: _Procedure, options: SwarmOptions) -> BatchJob:
    stored = find_procedure(asked.procedure)
    plan = stored.filled(asked.parameters, _rules(options))
    return BatchJob(
        objective=plan.objective,
        plan=plan,
        options=within_bounds(options, stored.procedure.bounds),
        inputs=asked.inputs,
        files=asked.files,
    )


def _rules(options: SwarmOptions) -> PlanRules:
    return PlanRules(max_steps=options.max_steps, gates=frozenset(gates()))


def _understand(line: dict[str, Any], options: SwarmOptions) -> tuple[str, TaskIR | None, _Given]:
    """Return the objective, the plan, and the line's inputs; a plan has its own."""
    rules = _rules(options)
    if "prompt_template" in line:
        mapped = _Mapped.model_validate(line)
        plan = TaskIR.from_items(
            mapped.prompt_template,
            mapped.items,
            objective=mapped.objective,
            join=mapped.join,
            agent=mapped.agent,
        )
        return plan.objective, parse_plan(plan.model_dump(mode="json"), rules), mapped
    if "steps" in line:
        plan = resolve(parse_plan(line, rules), find_procedure, rules)
        return plan.objective, plan, _Given()
    job = _Job.model_validate(line)
    plan = None
    if job.plan is not None:
        plan = resolve(parse_plan(job.plan, rules), find_procedure, rules)
    objective = job.objective if job.objective is not None or plan is None else plan.objective
    if objective is None:
        raise InputError("The line has neither an objective nor a plan.", _FORMS)
    if not objective.strip():
        raise InputError("The objective is empty.", "State it.")
    return objective, plan, job


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "a truth value"), (str, "a string"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "a number")


_NO_MATTER = frozenset(
    {
        "key_env",
        "max_concurrency",
        "max_tokens",
        "max_usd",
        "timeout_s",
        "step_timeout_s",
        "max_attempts",
        "gate_concurrency",
        "stream_text",
        "stream_plan",
        "pages",
        "notices",
        "approve",
        "start_over",
        "options_block",
    }
)
"""Options that bound a run or show it: what is completed under others is completed. Of a block
there are its options."""


def line_keys(lines: Iterable[str], options: SwarmOptions, inputs: str = "") -> list[str]:
    """Return a key for each line: of what it says, what it is given, and how often it was there.

    Args:
        lines: JSON; what is none has a key too.
        options: The batch's.
        inputs: A digest of the inputs that every line gets.
    """
    common = options.model_dump(mode="json", exclude={*_NO_MATTER})
    base = json.dumps([common, inputs], sort_keys=True)
    seen = Counter[str]()
    keys: list[str] = []
    for line in lines:
        digest = hashlib.sha256(f"{base}\n{_normal(line)}".encode()).hexdigest()[:16]
        seen[digest] += 1
        keys.append(f"{digest}-{seen[digest]}" if seen[digest] > 1 else digest)
    return keys


def _normal(line: str) -> str:
    """Write a line as every other that says the same."""
    try:
        return json.dumps(json.loads(line), sort_keys=True)
    except (ValueError, RecursionError):
        return line.strip().encode("utf-8", "replace").decode()


_RUNS = ".runs"
_MOST_OUTPUT_BYTES = 4 << 30


class PrintedOutput:
    """The output of a batch whose results are printed: no start leaves anything to the next."""

    def __init__(self, file: IO[str] | None = None) -> None:
        self._file = file
        self.passed_over: frozenset[str] = frozenset()

    def completed(self, key: str) -> BatchLine | None:  # noqa: ARG002 - as the other has it
        """Return how a line ended that an earlier start completed; None if it is to be done."""
        return None

    def run_of(self, key: str) -> str:  # noqa: ARG002 - as the other has it
        """Return the run that a line began at an earlier start; "" if it began none."""
        return ""

    def begin(self, key: str, run_id: str) -> None:
        """Note the run that a line begins, before it asks for anything."""

    def add(self, line: BatchLine) -> None:
        """Add how a line ended."""
        if self._file is not None:
            print(line.to_json(), file=self._file, flush=True)

    def finish(self) -> None:
        """Put the lines in order, and forget the runs of a batch that is completed."""


class BatchOutput(PrintedOutput):
    """The output of a batch that is a file, with what earlier starts left of it.

    Attributes:
        passed_over: The keys of the lines that were completed when it was opened.
    """

    def __init__(self, files: _Files, lines: Mapping[str, BatchLine], started: Mapping[str, str]):
        super().__init__(files.growing.open("a", encoding="utf-8"))
        self._files, self._lines, self._started = files, dict(lines), dict(started)
        self.passed_over = frozenset(lines)

    def completed(self, key: str) -> BatchLine | None:
        """Return how a line ended that an earlier start completed; None if it is to be done."""
        return self._lines[key] if key in self.passed_over else None

    def run_of(self, key: str) -> str:
        """Return the run that a line began at an earlier start; "" if it began none."""
        return self._started.get(key, "")

    def begin(self, key: str, run_id: str) -> None:
        """Note the run that a line begins, before it asks for anything."""
        self._started[key] = run_id
        _add(self._files.runs, {"line": key, "run": run_id})

    def add(self, line: BatchLine) -> None:
        """Add how a line ended, unless the output has it."""
        if line.key not in self.passed_over:
            self._lines[line.key] = line
            super().add(line)

    def finish(self) -> None:
        """Put the lines in order, and forget the runs of a batch that is completed."""
        files = self._files
        self.close()
        _write(files.growing, self._lines.values())
        if files.final != files.growing:
            files.growing.replace(files.final)
            _add(files.runs, {"wrote": files.batch})
        if not all(is_completed(line) or not self.run_of(key) for key, line in self._lines.items()):
            return
        if not files.batch:
            _runs_of(files.final).unlink(missing_ok=True)
            return
        # Its flow run may be run once more, if the server doesn't hear that it has ended.
        files.runs.truncate(0)
        _add(files.runs, {"batch": files.batch, "wrote": files.batch})

    def close(self) -> None:
        """Close the output as it is."""
        if self._file is not None:
            self._file.close()


@dataclass(frozen=True, slots=True)
class _Files:
    """Where a batch's output lies when it has ended, where it grows until then, and its runs."""

    final: Path
    growing: Path
    runs: IO[str]
    batch: str


@contextmanager
def batch_output(
    final: Path, growing: Path, keys: Mapping[str, int], batch: str = "", *, again: bool = False
) -> Generator[BatchOutput]:
    """Open a batch's output, with what earlier starts completed of it.

    Args:
        final: Where the output lies when the batch has ended.
        growing: Where it grows until then; it may be the same.
        keys: The lines' numbers by their keys.
        batch: The flow run that writes; what it did itself counts also where all is done again.
        again: Do what another start completed once more.

    Raises:
        InputError: It can't be written, or another batch writes it.
    """
    with ExitStack() as stack:
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            runs = stack.enter_context(_opened(_runs_of(final), final))
            output = _pending_before(_Files(final, growing, runs, batch), keys, again=again)
        except OSError as error:
            raise InputError(
                f"The batch's output {final} can't be written: {error.strerror}.",
                "Give a path that can be written to.",
            ) from None
        stack.callback(output.close)
        yield output


def has_started(final: Path, batch: str) -> bool:
    """Say whether a flow run has begun to write that output here."""
    with suppress(OSError):
        notes = _objects(read_file(_runs_of(final)).split(b"\n"))
        return any(note.get("batch") == batch for note in notes)
    return False


def _runs_of(final: Path) -> Path:
    return final.with_name(f"{final.name}{_RUNS}")


def _pending_before(files: _Files, keys: Mapping[str, int], *, again: bool) -> BatchOutput:
    """Read what earlier starts left, and let the growing output begin with it."""
    noted = [*_objects(files.runs.read().encode().split(b"\n"))]
    is_own = bool(files.batch) and any(note.get("batch") == files.batch for note in noted)
    wrote = is_own and any(note.get("wrote") == files.batch for note in noted)
    lines: dict[str, BatchLine] = {}
    if not again or wrote:
        lines |= _stored_lines(files.final, keys)
    if not again or is_own:
        lines |= _stored_lines(files.growing, keys)
    else:
        noted = []
        files.runs.truncate(0)
    if not is_own:
        _add(files.runs, {"batch": files.batch})
    _write(files.growing, lines.values())
    started = {
        str(note["line"]): run
        for note in noted
        if "line" in note and isinstance(run := note.get("run"), str) and is_plain_name(run)
    }
    return BatchOutput(files, lines, started)


def is_completed(line: BatchLine) -> bool:
    """Say whether nothing of a line is left to do."""
    return not line.error and line.result is not None and line.result.status == "completed"


def _stored_lines(path: Path, keys: Mapping[str, int]) -> dict[str, BatchLine]:
    """Return the completed lines that a file has; one that is cut off is done again."""
    with suppress(FileNotFoundError):
        # A person may have linked the output; what is linked is read as such a file is.
        place = Path(os.path.realpath(path))
        with UntrustedFolder(place.parent).opened(place.name) as file:
            require_size(os.fstat(file.fileno()), _MOST_OUTPUT_BYTES, place.name)
            return _completed(_objects(bounded_lines(file)), keys)
    return {}


def _completed(found: Iterable[Mapping[str, Any]], keys: Mapping[str, int]) -> dict[str, BatchLine]:
    lines: dict[str, BatchLine] = {}
    for data in found:
        key = data.get("key")
        if not isinstance(key, str) or key not in keys:
            continue
        with suppress(ValidationError):
            line = BatchLine.model_validate(data)
            if is_completed(line):
                lines[line.key] = line.model_copy(update={"number": keys[line.key]})
    return lines


def _objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        with suppress(ValueError):
            yield read_object(line.decode(errors="replace"))


def _add(file: IO[str], note: Mapping[str, str]) -> None:
    # The break comes first: a line that was cut off stays a line of its own.
    file.write(f"\n{json.dumps(note)}")
    file.flush()
    os.fsync(file.fileno())


def _write(path: Path, lines: Iterable[BatchLine]) -> None:
    text = "".join(f"{line.to_json()}\n" for line in sorted(lines, key=lambda line: line.number))
    try:
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        path.unlink(missing_ok=True)  # A link to nothing.
        path.touch()
        mode = path.stat().st_mode & 0o777
    with replace_atomically(path, mode=mode) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def _opened(path: Path, final: Path) -> Generator[IO[str]]:
    descriptor = UntrustedFolder(path.parent).open_to_append(path.name, READABLE)
    with os.fdopen(descriptor, "a+", encoding="utf-8", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"Another batch is writing the output {final}.",
                "Wait until it has ended, or give another output.",
            ) from None
        require_size(os.fstat(descriptor), MOST_TEXT_BYTES, path.name)
        file.seek(0)
        yield file
