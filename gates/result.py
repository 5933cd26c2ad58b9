"""What a gate reports on an artifact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ..errors import Category
from ..frozen import Frozen
from ..untrusted.figures import Finite, Moment

__all__ = ["Diagnostic", "Finding", "GateResult", "GateStatus", "fault", "format_diagnostics"]

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
