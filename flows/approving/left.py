"""What whoever started a run hears when it is left waiting for a person."""

from __future__ import annotations

from prefect.exceptions import Pause, PausedRun

from ...approvals.store import Approvals
from ...approvals.waiting import RunWaitingError
from ...runs import RunFolder

__all__ = ["left_waiting"]


def left_waiting(error: Pause | PausedRun) -> RunWaitingError:
    """Return what a flow run that came back paused means, with the questions of its run."""
    state = error.state
    flow_run_id = state.state_details.flow_run_id if state is not None else None
    run = RunFolder.of(str(flow_run_id or ""))
    return RunWaitingError(run.run_id, Approvals(run).pending())
