"""The protocol of gates: subject, findings, result."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, Protocol

from pydantic import Field

from ..data_types import Finite, Frozen, Moment
from ..errors import Category
from ..plan.output import Output, OutputKind, StepOutput
from ..workspace.place import Workplace

__all__ = [
    "LIGHT_STAGES",
    "STAGES",
    "Diagnostic",
    "Finding",
    "Gate",
    "GateResult",
    "GateStatus",
    "Stage",
    "Subject",
    "fault",
    "format_diagnostics",
]


GateStatus = Literal["passed", "failed", "skipped", "error"]


class Diagnostic(Frozen):
    """One thing that is wrong; lines and columns count from 1, `code` is the tool's own."""

    message: str
    line: int | None = None
    column: int | None = None
    code: str = ""

    def __str__(self) -> str:
        place = f"line {self.line}" if self.line is not None else ""
        if self.line is not None and self.column is not None:
            place += f", column {self.column}"
        return ": ".join(filter(None, [place, " ".join(filter(None, [self.code, self.message]))]))


class Finding(Frozen):
    """What a gate found; `category` and `diagnostics` are what an agent needs to fix it.

    `repaired` is the artifact as the gate repaired it, if it did: what comes later reads that.
    """

    status: GateStatus
    category: Category | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    repaired: str | None = None


class GateResult(Finding):
    """One gate's verdict on one artifact.

    `artifact` is the SHA-256 of what was checked, `version` the tool's, `diff` what a repair did.
    """

    gate: str
    required: bool = True
    duration_s: Finite = Field(
        default=0.0, description="Seconds; those of the first time if cached."
    )
    started_at: Moment = Field(default=0.0, description="When it was held against the artifact.")
    version: str = ""
    artifact: str = ""
    diff: str = ""
    cached: bool = False

    @classmethod
    def broken(cls, gate: str, why: str, *, required: bool) -> GateResult:
        """The result for an artifact when the gate itself broke."""
        return cls(
            gate=gate,
            required=required,
            status="error",
            category=Category.INFRASTRUCTURE,
            diagnostics=(Diagnostic(message=why),),
        )

    @property
    def worked_s(self) -> float:
        """Seconds from `started_at`; 0 if it was known before, or its start isn't said."""
        return 0.0 if self.cached or not self.started_at else self.duration_s

    @property
    def stops(self) -> bool:
        """Whether the artifact can't go on."""
        return self.required and self.status in ("failed", "error")


def fault(category: Category, *found: Diagnostic | str) -> Finding:
    """A failure with what was found."""
    diagnostics = tuple(
        Diagnostic(message=item) if isinstance(item, str) else item for item in found
    )
    return Finding(status="failed", category=category, diagnostics=diagnostics)


def format_diagnostics(diagnostics: Sequence[Diagnostic]) -> str:
    """Write all diagnostics in one line."""
    return "; ".join(map(str, diagnostics))


Stage = Literal["repair", "light", "unit", "integration"]
STAGES: tuple[Stage, ...] = ("repair", "light", "unit", "integration")
"""When a gate's turn is: repairs one after another, light ones side by side, then tests."""
LIGHT_STAGES: tuple[Stage, ...] = ("repair", "light")
"""The stages whose gates only read the artifact. Those of the others run it in a sandbox."""


class Subject(Frozen):
    """All that a gate may look at: nothing else decides what it finds.

    `upstream` is what the artifact was made from: outputs of earlier steps, or the plan's inputs.
    `workplace` is what a patch changes.
    """

    artifact: str
    output: Output = Output()
    prompt: str = ""
    upstream: tuple[StepOutput, ...] = ()
    workplace: Workplace | None = Field(default=None, exclude_if=lambda place: place is None)

    @property
    def digest(self) -> str:
        """SHA-256 of all of it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class Gate(Protocol):
    """A deterministic check. The same subject and version give the same finding.

    Register one under the entry point group `prefect_swarm.gates`: an object of this shape, or a
    class whose call without arguments makes one.
    """

    @property
    def name(self) -> str:
        """Lower case letters, digits, `_` and `-`."""
        ...

    @property
    def about(self) -> str:
        """What passes, in a few words."""
        ...

    @property
    def kinds(self) -> frozenset[OutputKind]:
        """The outputs it is for; it is skipped for others."""
        ...

    @property
    def stage(self) -> Stage: ...

    @property
    def timeout_s(self) -> float:
        """Seconds it may take."""
        ...

    def version(self) -> str:
        """The version of whatever decides, such as `ruff 0.9.1`; part of the cache key.

        Raises:
            SwarmError: The tool isn't there; says what to install.
        """
        ...

    async def check(self, subject: Subject) -> Finding:
        """Check the artifact. Raise only for what is not the artifact's fault."""
        ...
