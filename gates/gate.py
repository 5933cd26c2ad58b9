"""What a gate is, and what it is given."""

from __future__ import annotations

import hashlib
from typing import Literal, Protocol

from ..frozen import Frozen
from ..output import Output, OutputKind, StepOutput
from .result import Finding

__all__ = ["LIGHT_STAGES", "STAGES", "Gate", "Stage", "Subject"]

Stage = Literal["repair", "light", "unit", "integration"]
STAGES: tuple[Stage, ...] = ("repair", "light", "unit", "integration")
"""When a gate's turn is: repairs one after another, light ones side by side, then tests."""
LIGHT_STAGES: tuple[Stage, ...] = ("repair", "light")
"""The stages whose gates only read the artifact. Those of the others run it in a sandbox."""


class Subject(Frozen):
    """All that a gate may look at: nothing else decides what it finds.

    `upstream` is what the artifact was made from: outputs of earlier steps, or the plan's inputs.
    """

    artifact: str
    output: Output = Output()
    prompt: str = ""
    upstream: tuple[StepOutput, ...] = ()

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
