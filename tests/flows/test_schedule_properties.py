"""The schedule: what holds for any plan, whatever happens to it.

A machine of Hypothesis plays the driver. Beside the schedule it keeps what happened, and works out
from that alone, step by step and without any cleverness, what every step's status has to be.
"""

from dataclasses import dataclass
from typing import Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from prefect_swarm.flows.events import (
    AttemptFinished,
    Cancel,
    Cancelled,
    Command,
    ConcurrencyLimits,
    Event,
    Finish,
    Launch,
    PlanExtended,
    Skip,
)
from prefect_swarm.flows.schedule import Schedule

Outcome = Literal["succeeded", "failed", "skipped", "waived", "retry", "cancelled"]
TIERS = ("worker", "coder", "architect")
_BAD: tuple[Outcome, ...] = ("failed", "skipped", "waived", "retry", "cancelled")
OUTCOMES: tuple[Outcome, ...] = ("succeeded", "succeeded", "succeeded", *_BAD)
LIMITS = st.builds(
    ConcurrencyLimits,
    st.integers(1, 6),
    st.dictionaries(st.sampled_from(TIERS), st.integers(1, 3)),
)


@dataclass(frozen=True)
class Job:
    id: str
    upstream: tuple[str, ...]
    priority: int
    tier: str
    optional: bool


@st.composite
def stages(draw: st.DrawFn, count_before: int) -> PlanExtended:
    """More steps, each of which may need any step before it."""
    count = draw(st.integers(0 if count_before else 1, 12))
    numbers = range(count_before, count_before + count)
    return PlanExtended(tuple(draw(jobs(number)) for number in numbers))


def jobs(number: int) -> st.SearchStrategy[Job]:
    earlier = [f"S{before}" for before in range(number)]
    needs = st.lists(st.sampled_from(earlier), unique=True, max_size=4) if earlier else st.just([])
    return st.builds(
        Job,
        id=st.just(f"S{number}"),
        upstream=needs.map(tuple),
        priority=st.integers(1, 4),
        tier=st.sampled_from(TIERS),
        optional=st.booleans(),
    )


class Driver(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Job] = []
        self.over: dict[str, str] = {}
        self.waived: set[str] = set()
        self.running: dict[str, str] = {}
        self.tiers: dict[str, str] = {}
        self.attempts: dict[str, int] = {}
        self.cancelled = False
        self.history: list[tuple[Event, list[Command]]] = []

    # --- events ---------------------------------------------------------------------------------

    @initialize(limits=LIMITS, first=stages(0))
    def start(self, limits: ConcurrencyLimits, first: PlanExtended) -> None:
        self.limits = limits
        self.schedule = Schedule(limits)
        self.extend(first)

    @rule(data=st.data())
    def another_stage(self, data: st.DataObject) -> None:
        if len(self.jobs) < 40:
            self.extend(data.draw(stages(len(self.jobs))))

    @precondition(lambda self: self.running)
    @rule(
        data=st.data(), outcome=st.sampled_from(OUTCOMES), tier=st.none() | st.sampled_from(TIERS)
    )
    def an_attempt_ends(self, data: st.DataObject, outcome: Outcome, tier: str | None) -> None:
        step = data.draw(st.sampled_from(sorted(self.running)))
        self.end(AttemptFinished(step, outcome, tier if outcome == "retry" else None))

    @precondition(lambda self: len(self.history) > 8 and not self.cancelled)
    @rule()
    def the_run_is_cancelled(self) -> None:
        self.cancelled = True
        self.tell(Cancelled())

    def extend(self, stage: PlanExtended) -> None:
        self.jobs += [job for job in stage.steps if isinstance(job, Job)]
        self.tiers |= {job.id: job.tier for job in stage.steps}
        self.tell(stage)

    def end(self, event: AttemptFinished) -> None:
        del self.running[event.step]
        self.tiers[event.step] = event.tier or self.tiers[event.step]
        if event.outcome == "waived":
            self.waived.add(event.step)
            self.over[event.step] = "skipped"
        elif event.outcome != "retry":
            self.over[event.step] = event.outcome
        self.tell(event)

    def tell(self, event: Event) -> None:
        commands = self.schedule.advance(event)
        self.history.append((event, commands))
        skips = [command for command in commands if isinstance(command, Skip)]
        launches = [command for command in commands if isinstance(command, Launch)]
        self.check_skips(skips)
        for command in launches:
            self.check_launch(command)
        running = [job.id for job in self.jobs if job.id in self.running]
        stopped = [command.step for command in commands if isinstance(command, Cancel)]
        assert stopped == (running if event == Cancelled() else [])

    # --- what every answer has to be ------------------------------------------------------------

    def check_skips(self, skips: list[Skip]) -> None:
        """A required failure skips all that depends on it, once, and names its cause."""
        before = set(self.over)
        statuses = self.expected()
        self.over |= {
            name: status for name, status in statuses.items() if status in ("skipped", "cancelled")
        }
        now = {name for name in self.over if statuses[name] == "skipped"} - before
        assert {skip.step for skip in skips} == now
        assert len(skips) == len(now)
        by_id = {job.id: job for job in self.jobs}
        for skip in skips:
            assert skip.cause in by_id[skip.step].upstream
            assert self.blocks(by_id[skip.cause], statuses)

    def check_launch(self, command: Launch) -> None:
        """What starts is the first of those that may start, and fits into the limits."""
        assert command.step == self.startable()[0]
        assert command.tier == self.tiers[command.step]
        self.attempts[command.step] = self.attempts.get(command.step, 0) + 1
        assert command.attempt == self.attempts[command.step]
        self.running[command.step] = command.tier

    def expected(self) -> dict[str, str]:
        statuses: dict[str, str] = {}
        for job in self.jobs:
            statuses[job.id] = self.status_of(job, statuses)
        return statuses

    def status_of(self, job: Job, statuses: dict[str, str]) -> str:
        above = [needed for needed in self.jobs if needed.id in job.upstream]
        if job.id in self.over:
            return self.over[job.id]
        if job.id in self.running:
            return "running"
        if self.cancelled:
            return "cancelled"
        if any(self.blocks(needed, statuses) for needed in above):
            return "skipped"
        ended = all(needed.id in self.over or statuses[needed.id] == "skipped" for needed in above)
        return "ready" if ended else "waiting"

    def blocks(self, job: Job, statuses: dict[str, str]) -> bool:
        return statuses[job.id] in ("failed", "skipped", "cancelled") and not self.may_lack(job)

    def may_lack(self, job: Job) -> bool:
        return job.optional or job.id in self.waived

    def startable(self) -> list[str]:
        """Steps that may start now, the one to start first in front."""
        if len(self.running) >= self.limits.max_concurrency:
            return []
        statuses = self.expected()
        ready = [job for job in self.jobs if statuses[job.id] == "ready" and self.has_room(job)]
        return [job.id for job in sorted(ready, key=lambda job: -job.priority)]

    def has_room(self, job: Job) -> bool:
        tier = self.tiers[job.id]
        used = sum(used_tier == tier for used_tier in self.running.values())
        return used < self.limits.tiers.get(tier, self.limits.max_concurrency)

    # --- what holds after every event -----------------------------------------------------------

    @invariant()
    def every_status_follows_from_what_happened(self) -> None:
        assert self.schedule.statuses == self.expected()

    @invariant()
    def nothing_that_could_start_stays_waiting(self) -> None:
        assert self.startable() == []

    @invariant()
    def it_finishes_exactly_when_every_step_is_over(self) -> None:
        _, commands = self.history[-1]
        finishes = [command for command in commands if isinstance(command, Finish)]
        assert len(finishes) == (len(self.over) == len(self.jobs))
        assert all(finish.status == self.run_status() for finish in finishes)

    def run_status(self) -> str:
        if "succeeded" not in self.over.values():
            return "failed"
        whole = all(self.over[job.id] == "succeeded" or self.may_lack(job) for job in self.jobs)
        return "completed" if whole else "partial"

    def teardown(self) -> None:
        """Whatever happened, the run can be brought to its end, and replayed."""
        while self.running:
            self.end(AttemptFinished(min(self.running), "succeeded"))
        if not self.history:
            return
        assert isinstance(self.history[-1][1][-1], Finish)
        replayed = Schedule(self.limits)
        for event, commands in self.history:
            assert replayed.advance(event) == commands


TestSchedule = Driver.TestCase
TestSchedule.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
