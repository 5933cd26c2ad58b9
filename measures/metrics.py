"""How much of the critical path was cut."""

from __future__ import annotations

from pydantic import Field

from ..frozen import Frozen
from ..untrusted.figures import Finite

__all__ = ["Metrics"]


class Metrics(Frozen):
    """How much of the critical path was cut. Formulas: `parl.metrics`; words: `meanings`."""

    critical_steps: int
    makespan_s: Finite
    critical_path_s: Finite
    work_s: Finite
    parallelism: Finite
    speedup: Finite
    wait_s: Finite = Field(default=0.0, description="Seconds that attempts waited for models.")
    critical_wait_s: Finite = Field(
        default=0.0, description="Those of them that the critical path's steps waited."
    )
    total_s: Finite = Field(
        default=0.0, description="Seconds from the objective to the answer; 0 if not measured."
    )
