"""The gates there are, and the pipeline of those that an artifact goes through."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from ..errors import Category, GateError, InputError, SwarmError
from ..files import make_folder
from ..metrics.clock import run_time
from ..plan.gate_names import gate_name, is_required
from ..untrusted.folder import read_file
from .base import LIGHT_STAGES, STAGES, Diagnostic, Finding, Gate, GateResult, Stage, Subject, fault
from .code_gates import Format, Lint, Shellcheck, Typecheck
from .json_schema import JsonSchema
from .patch.gates import PROJECT_TOOLS, KeptTests, PatchApplies, PatchSecrets, ProjectChecks
from .python.gates import Integration, Unit
from .text_gates import Citations, Form, Length, Repetition, Sections

__all__ = [
    "GROUP",
    "GateCache",
    "GatePipeline",
    "PipelineResult",
    "build_pipeline",
    "check",
    "find_gate",
    "gates",
    "package_of",
    "ready_for",
    "run_pipeline",
]

GROUP = "prefect_swarm.gates"
"""The entry point group in which other packages register gates."""

_OWN: tuple[Gate, ...] = (
    JsonSchema(),
    Shellcheck(),
    Format(),
    Lint(),
    Typecheck(),
    Unit(),
    Integration(),
    Length(),
    Repetition(),
    Sections(),
    Form(),
    Citations(),
    PatchApplies(),
    PatchSecrets(),
    KeptTests(),
    *PROJECT_TOOLS,
    ProjectChecks(),
)
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@cache
def gates() -> Mapping[str, Gate]:
    """Every gate by its name, the package's own first.

    Raises:
        InputError: A registered gate can't be loaded, is not a gate, or has another's name.
    """
    found = {gate.name: gate for gate in _OWN}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        gate = _load(point)
        if gate.name in found:
            raise InputError(
                f"Two gates are named {gate.name}.", f"Rename that of {package_of(point)}."
            )
        found[gate.name] = gate
    return MappingProxyType(found)


def find_gate(name: str) -> Gate:
    """Return the gate of that name.

    Raises:
        InputError: There is none.
    """
    if (gate := gates().get(name)) is None:
        raise InputError(f"There is no gate {name!r}.", f"There are {', '.join(gates())}.")
    return gate


def _load(point: EntryPoint) -> Gate:
    try:
        made: Any = point.load()
        gate: Any = made() if isinstance(made, type) else made
        fits = bool(_NAME.fullmatch(gate.name)) and gate.stage in STAGES
        fits = fits and callable(gate.check) and callable(gate.version)
    except Exception as error:
        raise InputError(
            f"The gate {point.name} of {package_of(point)} can't be loaded: {error!r}.",
            "Fix or uninstall that package.",
        ) from error
    if not fits:
        raise InputError(
            f"The gate {point.name} of {package_of(point)} is not a gate.",
            "Give it the attributes of prefect_swarm.gates.Gate.",
        )
    return gate


def package_of(point: EntryPoint) -> str:
    """Return the name of the package that registers an entry point."""
    return point.dist.name if point.dist is not None else point.value


CheckGate = Callable[[Gate, Subject, bool], Awaitable[GateResult]]


@dataclass(frozen=True, slots=True)
class GatePipeline:
    """The gates of one artifact by stage, each with whether it has to be passed."""

    stages: tuple[tuple[Stage, tuple[tuple[Gate, bool], ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The gates as `build_pipeline` takes them, in the order of their stages."""
        return tuple(
            gate.name if required else f"{gate.name}?"
            for _, gates in self.stages
            for gate, required in gates
        )

    @property
    def light(self) -> GatePipeline:
        """Its first stages, whose gates need no sandbox."""
        return GatePipeline(tuple(stage for stage in self.stages if stage[0] in LIGHT_STAGES))

    @property
    def heavy(self) -> GatePipeline:
        """The stages behind those."""
        return GatePipeline(tuple(stage for stage in self.stages if stage[0] not in LIGHT_STAGES))


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """Each gate's result, and the artifact with all repairs."""

    artifact: str
    results: tuple[GateResult, ...]

    @property
    def stopped_by(self) -> GateResult | None:
        """The first gate that the artifact had to pass and didn't."""
        return next((result for result in self.results if result.stops), None)


def build_pipeline(names: Sequence[str]) -> GatePipeline:
    """Order gates by their stages, and within a stage as they are named. Pure.

    Args:
        names: As `select_gates` gives them; `?` behind a gate that stops nothing.

    Raises:
        InputError: There is no such gate.
    """
    found = [(find_gate(gate_name(name)), is_required(name)) for name in names]
    stages: list[tuple[Stage, tuple[tuple[Gate, bool], ...]]] = [
        (stage, tuple((gate, required) for gate, required in found if gate.stage == stage))
        for stage in STAGES
    ]
    return GatePipeline(tuple(stage for stage in stages if stage[1]))


async def _check_plainly(gate: Gate, subject: Subject, required: bool) -> GateResult:
    return await check(gate, subject, required=required)


async def run_pipeline(
    pipeline: GatePipeline, subject: Subject, check: CheckGate = _check_plainly
) -> PipelineResult:
    """Run a subject through a pipeline; after a stage with a failure that stops, nothing runs.

    Repairs go one after another, each on what the last one left; the gates of another stage run
    side by side.
    """
    results: list[GateResult] = []
    for stage, gates in pipeline.stages:
        if stage == "repair":
            for gate, required in gates:
                results.append(await check(gate, subject, required))
                if (repaired := results[-1].repaired) is not None:
                    subject = subject.model_copy(update={"artifact": repaired})
        else:
            checks = [check(gate, subject, required) for gate, required in gates]
            results += await asyncio.gather(*checks)
        if any(result.stops for result in results):
            break
    return PipelineResult(subject.artifact, tuple(results))


_RULES = 3
"""To be raised when this package's own gates decide otherwise, whatever their tools' versions."""


@dataclass(frozen=True, slots=True)
class GateCache:
    """A folder that many processes may read and write; a file that can't be read is a miss."""

    folder: Path

    def get(self, gate: str, version: str, subject: Subject) -> GateResult | None:
        """Return the cached result, if there is one."""
        try:
            data = read_file(self._file(gate, version, subject))
            return GateResult.model_validate_json(data)
        except (OSError, ValidationError):
            return None

    def put(self, gate: str, version: str, subject: Subject, result: GateResult) -> None:
        """Store a result; on a full disk nothing is stored."""
        file = self._file(gate, version, subject)
        with suppress(OSError):
            make_folder(file.parent)
            handle, part = tempfile.mkstemp(dir=file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(result.model_dump_json())
            Path(part).replace(file)

    def _file(self, gate: str, version: str, subject: Subject) -> Path:
        parts = f"{_RULES}\n{gate}\n{version}\n{subject.digest}"
        key = hashlib.sha256(parts.encode()).hexdigest()
        return self.folder / gate / f"{key}.json"


_MOST_COMPARED = 2_000
_HALF = re.compile(r"[\ud800-\udfff]")


async def check(
    gate: Gate,
    subject: Subject,
    *,
    required: bool = True,
    cache: GateCache | None = None,
    clock: Callable[[], float] = time.perf_counter,
    now: Callable[[], float] = run_time,
) -> GateResult:
    """Run a gate and never raise: what goes wrong in the gate itself is an `error`.

    Args:
        required: Whether the artifact has to pass; a gate that isn't required and runs out of time
            is skipped.
        cache: Where the findings of the same subject, gate and version lie.
        clock: Seconds.
        now: Seconds since the Unix epoch.
    """
    started, started_at = clock(), now()
    version = ""
    try:
        # Asking a tool for its version, or probing the sandbox, takes a moment.
        version = await asyncio.to_thread(gate.version)
        if subject.output.kind not in gate.kinds:
            finding = Finding(status="skipped")
        elif where := _no_character(subject.artifact):
            finding = fault(Category.FORMAT, where)
        elif (known := cache and cache.get(gate.name, version, subject)) is not None:
            update = {"required": required, "cached": True, "started_at": started_at}
            return known.model_copy(update=update)
        else:
            finding = await _within(gate, subject)
    except LateError:
        late = Diagnostic(message=f"not done within {gate.timeout_s:g} s")
        finding = Finding(
            status="failed" if required else "skipped",
            category=Category.TIMEOUT,
            diagnostics=(late,),
        )
    except SwarmError as error:
        finding = _error(error.category, str(error))
    except Exception as error:  # noqa: BLE001 - another package's gate may raise anything
        finding = _error(Category.INFRASTRUCTURE, repr(error))
    result = GateResult(
        **finding.model_dump(),
        gate=gate.name,
        required=required,
        duration_s=clock() - started,
        started_at=started_at,
        version=version,
        artifact=hashlib.sha256(subject.artifact.encode(errors="surrogatepass")).hexdigest(),
        diff=_diff(subject.artifact, finding.repaired),
    )
    # A busy minute says nothing about the artifact.
    lasts = result.status in ("passed", "failed") and result.category is not Category.TIMEOUT
    if cache is not None and lasts and not _no_character(subject.artifact):
        cache.put(gate.name, version, subject, result)
    return result


class LateError(Exception):
    """A gate's time is over."""


async def _within(gate: Gate, subject: Subject) -> Finding:
    work = asyncio.ensure_future(gate.check(subject))
    try:
        # Not `asyncio.timeout`: a TimeoutError of the gate's own is another matter.
        done, _ = await asyncio.wait({work}, timeout=gate.timeout_s)
    finally:
        if not work.done():
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
    if not done:
        raise LateError
    finding = work.result()
    if not isinstance(finding, Finding):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GateError(f"The gate {gate.name} found {finding!r}, which is not a Finding.")
    return finding


def _no_character(text: str) -> Diagnostic | None:
    """Return where a text has half of a character: no tool and no file takes that."""
    if (half := _HALF.search(text)) is None:
        return None
    line, column = (
        text.count("\n", 0, half.start()) + 1,
        half.start() - text.rfind("\n", 0, half.start()),
    )
    message = f"{half[0]!a} is half of a character"
    return Diagnostic(message=message, line=line, column=column)


def _error(category: Category, message: str) -> Finding:
    return Finding(status="error", category=category, diagnostics=(Diagnostic(message=message),))


def _diff(before: str, after: str | None) -> str:
    if after is None:
        return ""
    # The comparison's time grows with the product of the lines.
    old, new = (text.splitlines()[:_MOST_COMPARED] for text in (before, after))
    lines = difflib.unified_diff(old, new, "as written", "repaired", lineterm="", n=1)
    return "\n".join(lines)


_RUN_CODE = frozenset({"unit", "integration"})


def ready_for(gates: Iterable[str]) -> AbstractContextManager[None]:
    """Have a sandbox wait while these gates may be asked, if one of them needs it.

    It is for the thread that this is entered in, whose event loop asks the gates.
    """
    if _RUN_CODE.isdisjoint(gates):
        return nullcontext()
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from .python.run import supervisor_ready

    return supervisor_ready()
