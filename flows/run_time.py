"""Where the time of a run went, and the clock that it goes by."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from ..errors import RunDamagedError
from ..events.log import EVENTS, events_of_kinds, last_event
from ..measures.clock import clock_of_run, run_time
from ..measures.stretch import RunTime, Stretch, TimeKind, seconds_by_kind
from ..parl.metrics import StepRun
from ..parl.time_breakdown import HEARD, around_steps, explain, turns_of
from ..result import StepResult
from ..runs import RunFolder
from ..tasks.subagent.request import SubagentResult
from ..text import duration
from ..untrusted.figures import moment_of
from ..untrusted.folder import MOST_TEXT_BYTES

__all__ = [
    "AttemptTimes",
    "NotedTime",
    "other_samples",
    "steady_clock",
    "stopped_among",
    "time_of_run",
]


_LEAST_S = 2.0
"""Clocks are corrected by less all the time."""

_logger = logging.getLogger("prefect_swarm.runs")


@contextmanager
def steady_clock(run: RunFolder) -> Generator[None]:
    """Let time pass steadily, from where an earlier process of the run had come to."""
    with clock_of_run(_last_moment(run)) as clock:
        if clock.ahead_s > _LEAST_S:
            _logger.warning(
                "The clock is %s behind the last event of run %s: it was set back. How long the "
                "run stood still isn't known, and doesn't count.",
                duration(clock.ahead_s),
                run.run_id,
            )
        try:
            yield
        finally:
            if abs(by := clock.set_by_s()) > _LEAST_S:
                _logger.warning(
                    "While run %s went on, the clock was set %s by %s, or the machine slept. The "
                    "run's times and durations are as if it hadn't.",
                    run.run_id,
                    "ahead" if by > 0 else "back",
                    duration(abs(by)),
                )


def _last_moment(run: RunFolder) -> float:
    moment = run.started_at()
    with suppress(RunDamagedError):
        last = last_event(run.read_bytes(EVENTS, MOST_TEXT_BYTES) or b"")
        moment = max(moment, last.at if last else 0.0)
    return moment


_LEAST_NOTED_S = 0.001
"""What takes less is not noted: nobody would look for it."""


@dataclass(slots=True)
class NotedTime:
    """Stretches of time, as they were noted."""

    stretches: list[Stretch] = field(default_factory=list[Stretch])
    clock: Callable[[], float] = field(default=run_time)

    @contextmanager
    def noted(self, kind: TimeKind) -> Generator[None]:
        """Note what the work inside takes, also if it fails."""
        began = self.clock()
        try:
            yield
        finally:
            ended = self.clock()
            if ended - began >= _LEAST_NOTED_S:
                self.stretches.append(Stretch(kind=kind, started_at=began, ended_at=ended))


@dataclass(slots=True)
class AttemptTimes:
    """When an attempt could begin, when it was launched, and what else it took.

    One that waits for a person in its middle is launched again; its times go on.
    """

    ready_at: float
    launched_at: float
    other: NotedTime = field(default_factory=NotedTime)


def other_samples(best: SubagentResult, results: Iterable[SubagentResult]) -> list[Stretch]:
    """Return the time of the models that wrote the samples which don't count."""
    return [
        Stretch(kind="model", started_at=result.started_at, ended_at=result.ended_at)
        for result in results
        if result is not best and result.started_at < result.ended_at
    ]


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
