"""Where the time of a run went, put together at its end."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...errors import RunDamagedError
from ...events.log import EVENTS
from ...events.reading import events_of_kinds
from ...measures.stretch import RunTime, Stretch, seconds_by_kind
from ...parl.explained.heard import HEARD, around_steps
from ...parl.explained.turns import turns_of
from ...parl.explained.walk import explain
from ...parl.metrics import StepRun
from ...result import StepResult
from ...runs import RunFolder
from ...untrusted.figures import moment_of

__all__ = ["stopped_among", "time_of_run"]

_logger = logging.getLogger("prefect_swarm.runs")


def time_of_run(
    run: RunFolder,
    steps: Sequence[StepResult],
    upstream: Mapping[str, Sequence[str]],
    ending: Sequence[Stretch],
    ended_at: float,
) -> RunTime | None:
    """Return where a run's time went; None if it isn't known when it began.

    What can't be read of its events is missing: that time is Prefect's then.

    Args:
        steps: Its steps with their attempts.
        upstream: The steps that each step needs.
        ending: What its end took: the answer, and what the memory learned.
        ended_at: When it ended, in seconds since the Unix epoch.
    """
    began_at = moment_of(run.about().get("started_at"))
    if began_at is None:
        return None
    try:
        around = around_steps(events_of_kinds(run.folder / EVENTS, HEARD), began_at, ended_at)
    except RunDamagedError as error:
        _logger.warning("What the time of run %s went to is not all known: %s", run.run_id, error)
        around = around_steps((), began_at, ended_at)
    around = replace(around, stretches=(*around.stretches, *ending))
    stretches = explain(turns_of(steps), upstream, around, began_at, ended_at)
    return RunTime.of(stretches, began_at, max(began_at, ended_at))


def stopped_among(runs: Sequence[StepRun], spent: RunTime) -> float:
    """Return the seconds between the first step's start and the last's end that nothing ran."""
    since = min((run.started_at for run in runs), default=0.0)
    until = max((run.ended_at for run in runs), default=0.0)
    return seconds_by_kind(spent.stretches, since, until).get("stopped", 0.0)
