"""Run one gate on one subject: within its time, timed, and cached by content."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..errors import Category, GateError, SwarmError
from ..files import make_folder
from ..measures.clock import run_time
from ..untrusted.folder import read_file
from .gate import Gate, Subject
from .result import Diagnostic, Finding, GateResult, fault

__all__ = ["GateCache", "check"]


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
