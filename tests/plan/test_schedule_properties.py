"""The schedule: what holds for any plan, whatever happens to it.

A machine of Hypothesis plays the driver. Beside the schedule it keeps what happened, and works out
from that alone, step by step and without any cleverness, what every step's status has to be.
"""

from typing import Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from prefect_swarm.plan.compile import CompiledStep
from prefect_swarm.plan.schedule import ConcurrencyLimits, Schedule
from prefect_swarm.plan.schedule_events import (
    Approved,
    Ask,
    AttemptFinished,
    Cancel,
    Cancelled,
    Command,
    Edited,
    Event,
    Finish,
    Launch,
    PlanExtended,
    Rejected,
    Replace,
    Skip,
    Wait,
)
from prefect_swarm.plan.task_ir import TIERS

Outcome = Literal["succeeded", "failed", "skipped", "waived", "retry", "asked", "cancelled"]
_BAD: tuple[Outcome, ...] = ("failed", "skipped", "waived", "retry", "asked", "cancelled")
OUTCOMES: tuple[Outcome, ...] = ("succeeded", "succeeded", "succeeded", *_BAD)
LIMITS = st.builds(
    ConcurrencyLimits,
    st.integers(1, 6),
    st.dictionaries(st.sampled_from(TIERS), st.integers(1, 3)),
)


@st.composite
def stages(draw: st.DrawFn, count_before: int) -> PlanExtended:
    """More steps, each of which may need any step before it; about some a person is asked."""
    count = draw(st.integers(0 if count_before else 1, 12))
    numbers = range(count_before, count_before + count)
    steps = tuple(draw(jobs(number)) for number in numbers)
    approval = draw(st.frozensets(st.sampled_from([job.id for job in steps]))) if steps else None
    asked = draw(st.booleans()) if not count_before else False
    return PlanExtended(steps, approval=approval or frozenset(), asked=asked)


def jobs(number: int) -> st.SearchStrategy[CompiledStep]:
    earlier = [f"S{before}" for before in range(number)]
    needs = st.lists(st.sampled_from(earlier), unique=True, max_size=4) if earlier else st.just([])
    return st.builds(
        CompiledStep,
        id=st.just(f"S{number}"),
        upstream=needs.map(tuple),
        priority=st.integers(1, 4),
        tier=st.sampled_from(TIERS),
        optional=st.booleans(),
    )


class Driver(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[CompiledStep] = []
        self.over: dict[str, str] = {}
        self.waived: set[str] = set()
        self.running: dict[str, str] = {}
        self.tiers: dict[str, str] = {}
        self.attempts: dict[str, int] = {}
        self.cancelled = False
        self.plan_asked = False
        self.plan_rejected = False
        self.edited = False
        self.asks: set[str] = set()
        self.begun: set[str] = set()
        self.open: set[str] = set()
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
        data=st.data(),
        outcome=st.sampled_from(OUTCOMES),
        tier=st.none() | st.sampled_from(TIERS),
        asks=st.booleans(),
    )
    def an_attempt_ends(
        self, data: st.DataObject, outcome: Outcome, tier: str | None, asks: bool
    ) -> None:
        step = data.draw(st.sampled_from(sorted(self.running)))
        retries = outcome == "retry"
        self.end(AttemptFinished(step, outcome, tier if retries else None, asks and retries))

    @precondition(lambda self: self.open)
    @rule(data=st.data(), approved=st.booleans())
    def a_person_answers(self, data: st.DataObject, approved: bool) -> None:
        self.answer(data.draw(st.sampled_from(sorted(self.open))), approved)

    @precondition(lambda self: len(self.history) > 8 and not self.edited)
    @rule()
    def the_plan_is_edited(self) -> None:
        self.edited = not self.cancelled
        self.emit(Edited())

    @precondition(lambda self: len(self.history) > 8 and not self.cancelled)
    @rule()
    def the_run_is_cancelled(self) -> None:
        self.cancelled = True
        self.plan_asked = self.edited = False
        self.emit(Cancelled())

    def extend(self, stage: PlanExtended) -> None:
        self.jobs += stage.steps
        self.tiers |= {job.id: job.tier for job in stage.steps}
        self.asks |= stage.approval
        self.plan_asked = self.plan_asked or stage.asked
        self.emit(stage)

    def answer(self, subject: str, approved: bool) -> None:
        if not subject:
            self.plan_asked, self.plan_rejected = False, not approved
        elif approved:
            self.asks.discard(subject)
            self.begun.discard(subject)
        else:
            (job,) = [job for job in self.jobs if job.id == subject]
            self.over[subject] = "skipped" if job.optional else "failed"
        self.emit(Approved(subject) if approved else Rejected(subject))

    def end(self, event: AttemptFinished) -> None:
        del self.running[event.step]
        self.tiers[event.step] = event.tier or self.tiers[event.step]
        if event.outcome == "waived":
            self.waived.add(event.step)
            self.over[event.step] = "skipped"
        elif event.outcome == "asked":
            self.asks.add(event.step)
            self.begun.add(event.step)
            self.attempts[event.step] -= 1
        elif event.outcome != "retry":
            self.over[event.step] = event.outcome
        elif event.asks:
            self.asks.add(event.step)
        self.emit(event)

    def emit(self, event: Event) -> None:
        if isinstance(event, Approved | Rejected):
            self.open.remove(event.step)
        if event == Cancelled():
            self.open.clear()
        commands = self.schedule.advance(event)
        self.history.append((event, commands))
        for command in commands:
            if isinstance(command, Ask):
                self.check_ask(command)
        skips = [command for command in commands if isinstance(command, Skip)]
        launches = [command for command in commands if isinstance(command, Launch)]
        self.check_skips(skips)
        for command in launches:
            self.check_launch(command)
        running = [job.id for job in self.jobs if job.id in self.running]
        stopped = [command.step for command in commands if isinstance(command, Cancel)]
        assert stopped == (running if event == Cancelled() else [])

    # --- what every answer has to be ------------------------------------------------------------

    def check_ask(self, command: Ask) -> None:
        """A person is asked once about what waits for them, and about which attempt it is."""
        assert command.step not in self.open
        self.open.add(command.step)
        attempt = self.attempts.get(command.step, 0) + 1 if command.step else 0
        assert (command.attempt, command.begun) == (attempt, command.step in self.begun)

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
            if self.plan_rejected:
                assert skip.cause == ""
                continue
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

    def status_of(self, job: CompiledStep, statuses: dict[str, str]) -> str:
        above = [needed for needed in self.jobs if needed.id in job.upstream]
        if job.id in self.over:
            return self.over[job.id]
        if job.id in self.running:
            return "running"
        if self.cancelled:
            return "cancelled"
        if self.plan_rejected:
            return "skipped"
        if any(self.blocks(needed, statuses) for needed in above):
            return "skipped"
        ended = all(needed.id in self.over or statuses[needed.id] == "skipped" for needed in above)
        if self.plan_asked or not ended:
            return "waiting"
        return "asked" if job.id in self.asks else "ready"

    def asked(self) -> list[str]:
        """Steps that wait for a person."""
        return [name for name, status in self.expected().items() if status == "asked"]

    def blocks(self, job: CompiledStep, statuses: dict[str, str]) -> bool:
        return statuses[job.id] in ("failed", "skipped", "cancelled") and not self.may_lack(job)

    def may_lack(self, job: CompiledStep) -> bool:
        return job.optional or job.id in self.waived

    def startable(self) -> list[str]:
        """Steps that may start now, the one to start first in front."""
        if self.plan_asked or self.edited or len(self.running) >= self.limits.max_concurrency:
            return []
        statuses = self.expected()
        ready = [job for job in self.jobs if statuses[job.id] == "ready" and self.has_room(job)]
        return [job.id for job in sorted(ready, key=lambda job: -job.priority)]

    def has_room(self, job: CompiledStep) -> bool:
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
        assert len(finishes) == (len(self.over) == len(self.jobs) and not self.edited)
        assert all(finish.status == self.run_status() for finish in finishes)

    @invariant()
    def what_waits_for_a_person_has_been_asked(self) -> None:
        waiting = {*self.asked(), *([""] if self.plan_asked else [])}
        assert self.open <= waiting
        assert self.edited or self.open == waiting

    @invariant()
    def where_nothing_runs_it_says_what_there_is_to_do(self) -> None:
        is_over = len(self.over) == len(self.jobs)
        due = Replace if self.edited else Finish if is_over else Wait
        commands = [c for c in self.history[-1][1] if isinstance(c, Replace | Finish | Wait)]
        assert [type(command) for command in commands] == ([] if self.running else [due])

    def run_status(self) -> str:
        if "succeeded" not in self.over.values():
            return "failed"
        whole = all(self.over[job.id] == "succeeded" or self.may_lack(job) for job in self.jobs)
        return "completed" if whole else "partial"

    def teardown(self) -> None:
        """Whatever happened, the run can be brought to its end, and replayed."""
        while self.running or (self.open and not self.edited):
            if self.running:
                self.end(AttemptFinished(min(self.running), "succeeded"))
            else:
                self.answer(min(self.open), approved=True)
        if not self.history:
            return
        assert isinstance(self.history[-1][1][-1], Replace if self.edited else Finish)
        replayed = Schedule(self.limits)
        for event, commands in self.history:
            assert replayed.advance(event) == commands


TestSchedule = Driver.TestCase
TestSchedule.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
