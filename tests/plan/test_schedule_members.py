"""The schedule with members: what holds for any plan with groups, whatever happens to it.

A driver plays the run: it works out conditions and members by a seeded choice, with the same
functions as a run, and ends attempts in any order. After every event it compares what the schedule
says with what the page about such plans says.
"""

from __future__ import annotations

import random
from typing import Any, Literal

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.compile import CompiledStep, compile_plan
from prefect_swarm.plan.expand import (
    followers_of,
    inner_steps,
    instances_of,
    needed_of,
    round_of,
)
from prefect_swarm.plan.items import item_of
from prefect_swarm.plan.schedule import ConcurrencyLimits, Schedule
from prefect_swarm.plan.schedule_events import (
    OVER,
    Approved,
    Ask,
    AttemptFinished,
    Cancel,
    Cancelled,
    Close,
    Command,
    Decide,
    Decided,
    Edited,
    Event,
    Expand,
    Expanded,
    Finish,
    Launch,
    PlanExtended,
    Rejected,
    Replace,
    Skip,
    Wait,
)
from prefect_swarm.plan.task_ir import TaskIR
from pydantic import ValidationError

JSON = {"kind": "json", "schema": {"type": "object"}}
AT: tuple[dict[str, str], ...] = ({}, {}, {"at": "/items"})
END = {"empty": True}


def lists_for(earlier: list[str], each: list[str]) -> list[dict[str, Any]]:
    """Return where a step may have its items: the plan, a step, a step that is for each itself."""
    written: list[dict[str, Any]] = [{"items": ["a"]}, {"items": ["a", "b", "c"]}]
    found = [{"items": name, "at": "/items"} for name in earlier if name not in each]
    return [*written, *found, *({"items": name, **at} for name in each for at in AT)]


@st.composite
def step_lists(draw: st.DrawFn, depth: int = 0) -> list[dict[str, Any]]:
    """Steps that stand side by side; those of a plan inside a step are fewer and plainer."""
    made: list[dict[str, Any]] = []
    for number in range(1, draw(st.integers(1, 5 - 2 * depth)) + 1):
        earlier = [step["id"] for step in made]
        each = [step["id"] for step in made if "for_each" in step]
        step: dict[str, Any] = {"id": f"S{number}"}
        if depth < 2 and draw(st.integers(0, 5)) == 0:
            inner = draw(step_lists(depth + 1))
            step["plan"] = {"steps": inner, "final_step": inner[-1]["id"]}
        else:
            step |= {"agent": "Reader", "prompt": f"read {number}", "output": JSON}
        if earlier:
            needs = draw(st.lists(st.sampled_from(earlier), unique=True, max_size=2))
            step["depends_on"] = sorted(needs)
            if draw(st.integers(0, 4)) == 0:
                step["when"] = {"step": draw(st.sampled_from(earlier)), "is": 1}
        if for_each := draw(st.sampled_from([{}, {}, *lists_for(earlier, each)])):
            at_least = draw(st.sampled_from([None, None, 0.5, 1]))
            step["for_each"] = {**for_each, "at_least": at_least, "max_items": 6}
        if draw(st.integers(0, 5)) == 0:
            at_end = draw(st.sampled_from(["fail", "partial"]))
            step["repeat"] = {"until": END, "max_rounds": 3, "at_end": at_end}
        step["optional"] = draw(st.integers(0, 4)) == 0
        step["approval"] = draw(st.integers(0, 5)) == 0
        made.append(step)
    return made


def compiled(steps: list[dict[str, Any]]) -> tuple[CompiledStep, ...]:
    agents = [{"name": "Reader", "system_prompt": "You read."}]
    plan = {"objective": "Find out", "agents": agents, "steps": steps}
    try:
        return compile_plan(TaskIR.model_validate(plan)).steps
    except (PlanError, ValidationError):  # Such a place is in no output, or it is too large.
        reject()


PLANS = step_lists()
LIMITS = st.builds(
    ConcurrencyLimits, st.integers(1, 5), st.sampled_from([{}, {"worker": 1}, {"worker": 2}])
)
Ending = Literal["succeeded", "failed", "waived", "retry", "asked"]


class Run:
    """A run as the driver sees it.

    Attributes:
        luck: The chance that an attempt succeeds.
        restores: The chance that a member was done before.
    """

    def __init__(self, limits: ConcurrencyLimits, seed: int, luck: float, restores: float) -> None:
        self.limits = limits
        self.schedule = Schedule(limits)
        self.random = random.Random(seed)  # noqa: S311 - the order of events
        self.luck, self.restores = luck, restores
        self.steps: dict[str, CompiledStep] = {}
        self.parents: dict[str, str] = {}
        self.members: dict[str, list[str]] = {}
        self.counted: dict[str, tuple[str, ...]] = {}
        self.expanded: set[str] = set()
        self.by_condition: set[str] = set()
        self.waived: set[str] = set()
        self.running: dict[str, int] = {}
        self.attempts: dict[str, int] = {}
        self.open: set[str] = set()
        self.too_many: set[str] = set()
        self.closed: dict[str, str] = {}
        self.statuses: dict[str, str] = {}
        self.work: list[Decide | Expand] = []
        self.history: list[tuple[Event, list[Command]]] = []
        self.ends: list[Command] = []
        self.is_cancelled = self.is_edited = self.is_rejected = self.is_plan_asked = False

    # --- driving --------------------------------------------------------------------------------

    def begin(self, steps: tuple[CompiledStep, ...], *, asks: bool = False) -> None:
        self.steps |= {step.id: step for step in steps}
        approval = frozenset(step.id for step in steps if step.approval)
        done = frozenset(step.id for step in steps if self._is_restored(step))
        self.is_plan_asked = asks
        self.emit(PlanExtended(steps, done, approval=approval, asked=asks))

    def go_on(self) -> bool:
        """Let one thing happen that may happen now; False where nothing can."""
        choices = [*self.running, *sorted(self.open)]
        if not choices:
            return False
        name = self.random.choice(choices)
        if name in self.running:
            self.end(name)
        else:
            self.answer(name)
        return True

    def end(self, name: str) -> None:
        del self.running[name]
        outcome: Ending = "succeeded"
        if self.random.random() > self.luck:
            outcome = self.random.choice(["failed", "failed", "waived", "retry", "asked"])
        if outcome == "waived":
            self.waived.add(name)
        if outcome == "asked":
            self.attempts[name] -= 1
        if outcome == "failed" and self.steps[name].optional:
            self.emit(AttemptFinished(name, "skipped"))
        elif self.is_cancelled and outcome in ("retry", "asked"):
            self.emit(AttemptFinished(name, "cancelled"))
        else:
            self.emit(AttemptFinished(name, outcome))

    def answer(self, name: str) -> None:
        self.open.remove(name)
        self.is_plan_asked = self.is_plan_asked and bool(name)
        if self.random.random() < max(self.luck, 0.5):
            self.emit(Approved(name))
        else:
            self.is_rejected = not name
            self.emit(Rejected(name))

    def cancel(self) -> None:
        self.is_cancelled, self.is_edited = True, False
        self.open.clear()
        self.emit(Cancelled())

    def edit(self) -> None:
        self.is_edited = True
        self.open.clear()
        self.emit(Edited())

    def emit(self, event: Event) -> None:
        commands = self.schedule.advance(event)
        self.history.append((event, commands))
        for name, status in self.schedule.take_changes().items():
            assert self.statuses.get(name) not in OVER, f"{name} ended twice"
            self.statuses[name] = status
        self.ends = [each for each in commands if isinstance(each, Finish | Replace | Wait)]
        for command in commands:
            self.carry_out(command)
        while self.work:
            command = self.work.pop(0)
            self.emit(
                self.decided(command) if isinstance(command, Decide) else self.expand(command)
            )
        self.check()

    def carry_out(self, command: Command) -> None:
        match command:
            case Launch(step, attempt, _):
                self.check_launch(step)
                assert attempt == self.attempts.get(step, 0) + 1
                self.running[step] = self.attempts[step] = attempt
            case Decide() | Expand():
                self.work.append(command)
            case Ask(step):
                assert step not in self.open
                self.open.add(step)
            case Skip(step, cause, _, by_condition):
                self.check_skip(step, cause, by_condition=by_condition)
            case Close(step, status):
                assert step not in self.closed
                self.closed[step] = status
                counted = self.counted.get(step, ())
                if counted and all(each in self.by_condition for each in counted):
                    self.by_condition.add(step)
            case Cancel(step):
                assert step in self.running
            case _:
                pass

    def decided(self, command: Decide | Expand) -> Decided:
        holds = self.random.random() < 0.5
        if not holds:
            self.by_condition.add(command.step)
        return Decided(command.step, holds)

    def expand(self, command: Decide | Expand) -> Expanded:
        step = self.steps[command.step]
        own = self.members.setdefault(step.id, [])
        if step.for_each is not None:
            assert not own
            chance = self.random.random()
            if step.follows and step.follows not in self.expanded:
                return Expanded(step.id, outcome="failed")
            if step.follows:
                followed = [self.steps[name] for name in self.members[step.follows]]
                members = followers_of(step, followed)
            elif chance < 0.1:
                return Expanded(step.id, outcome="failed")
            elif chance < 0.2 and step.id not in self.too_many:
                self.too_many.add(step.id)
                return Expanded(step.id, outcome="asked")
            else:
                count = self.random.randint(0, 3)
                members = instances_of(step, [item_of(f"item {n}") for n in range(count)])
            names = tuple(member.id for member in members)
            return self._with(step, members, names, needed_of(step.for_each, len(names)))
        if step.repeat is not None:
            if own and self.statuses[own[-1]] != "succeeded":
                is_partial = step.repeat.at_end == "partial" and len(own) > 1
                return Expanded(step.id, outcome="succeeded" if is_partial else "failed")
            if own and self.random.random() < 0.4:
                return Expanded(step.id, outcome="succeeded")
            if len(own) >= step.repeat.max_rounds:
                is_partial = step.repeat.at_end == "partial"
                return Expanded(step.id, outcome="succeeded" if is_partial else "failed")
            return self._with(step, (round_of(step, len(own) + 1),), (), 0, is_complete=False)
        return self._with(step, inner_steps(step), (f"{step.id}.{step.final}",), 1)

    def _with(
        self,
        step: CompiledStep,
        members: tuple[CompiledStep, ...],
        counted: tuple[str, ...],
        needed: int,
        *,
        is_complete: bool = True,
    ) -> Expanded:
        self.steps |= {member.id: member for member in members}
        self.parents |= {member.id: step.id for member in members}
        self.members[step.id] += [member.id for member in members]
        self.counted[step.id] = counted
        if is_complete:
            self.expanded.add(step.id)
        done = frozenset(member.id for member in members if self._is_restored(member))
        approval = frozenset(member.id for member in members if member.approval)
        return Expanded(step.id, members, done, approval, counted, needed, is_complete)

    def _is_restored(self, step: CompiledStep) -> bool:
        return not step.is_group and self.random.random() < self.restores

    # --- what has to hold -----------------------------------------------------------------------

    def needs(self, name: str) -> tuple[str, ...]:
        step = self.steps[name]
        return (*step.upstream, *step.waits_for)

    def may_lack(self, name: str) -> bool:
        return self.steps[name].optional or name in self.waived or name in self.by_condition

    def blocks(self, name: str) -> bool:
        return self.statuses[name] in OVER - {"succeeded"} and not self.may_lack(name)

    def is_stopped(self) -> bool:
        return self.is_cancelled or self.is_edited or self.is_rejected or self.is_plan_asked

    def check_launch(self, name: str) -> None:
        """What starts has all that it reads, and room."""
        assert not self.steps[name].is_group
        assert name not in self.running
        assert not self.is_stopped()
        for need in self.needs(name):
            assert self.statuses[need] in OVER
            assert not self.blocks(need)
        upstream = self.steps[name].upstream
        assert not upstream or any(need not in self.by_condition for need in upstream)
        assert len(self.running) < self.limits.max_concurrency
        assert len(self.running) < self.limits.tiers.get("worker", 99)
        parent = self.parents.get(name)
        while parent:
            assert self.statuses[parent] == "running"
            parent = self.parents.get(parent)

    def check_skip(self, name: str, cause: str, *, by_condition: bool) -> None:
        if not cause:
            assert self.is_rejected
            return
        step = self.steps[name]
        assert cause in (*self.needs(name), step.source, step.follows)
        if by_condition:
            self.by_condition.add(name)
            assert cause in self.by_condition
            is_without_items = cause in (step.source, step.follows)
            assert is_without_items or all(need in self.by_condition for need in step.upstream)
        else:
            assert self.blocks(cause)

    def check(self) -> None:
        """Compare every status with what the page says, once nothing is being worked out."""
        if self.work:
            return
        assert self.schedule.statuses == self.statuses
        has_room = len(self.running) < min(
            self.limits.max_concurrency, self.limits.tiers.get("worker", 99)
        )
        for name, status in self.statuses.items():
            step = self.steps[name]
            if self.is_cancelled or self.is_rejected:
                assert status in OVER or name in self.running
                continue
            if status == "waiting" and not self.is_plan_asked:
                assert self.is_held(name), f"{name} waits for nothing"
            if status == "ready":
                assert self.is_edited or not has_room
            if status == "running" and step.is_group:
                open_too = (step.follows,) if step.follows else ()
                within = (*self.members[name], *open_too)
                assert any(self.statuses[each] not in OVER for each in within)
            if status == "asked":
                assert self.is_edited or name in self.open
            if step.is_group and name in self.closed:
                self.check_group(name)
        is_over = all(status in OVER for status in self.statuses.values())
        assert any(isinstance(end, Finish) for end in self.ends) == (is_over and not self.is_edited)

    def is_held(self, name: str) -> bool:
        if any(self.statuses[need] not in OVER for need in self.needs(name)):
            return True
        follows = self.steps[name].follows
        is_there = follows in self.expanded or self.statuses.get(follows) in OVER
        return bool(follows) and not is_there

    def check_group(self, name: str) -> None:
        """A step with instances succeeds with enough of them, of those that count."""
        step, status = self.steps[name], self.statuses[name]
        if step.for_each is None or name not in self.expanded or status == "cancelled":
            return
        members = self.members[name]
        if name in self.by_condition:
            assert status == "skipped"
            return
        counting = [each for each in members if self.counts(step, each)]
        good = sum(not self.is_lost(each) for each in counting)
        is_enough = good >= needed_of(step.for_each, len(counting))
        worse = "skipped" if step.optional else "failed"
        assert status == ("succeeded" if is_enough else worse)

    def counts(self, step: CompiledStep, member: str) -> bool:
        if member in self.by_condition:
            return False
        if not step.follows or self.statuses[step.follows] != "succeeded":
            return True
        own = self.steps[member]
        (item,) = {own.source, own.follows, *own.upstream} & {*self.members[step.follows]}
        return not self.is_lost(item)

    def is_lost(self, member: str) -> bool:
        return self.statuses[member] != "succeeded" and not {member} & self.waived


def finished(run: Run) -> None:
    """Let a run go on to its end, and check that it has one and that it is the same again."""
    for _ in range(5_000):
        if not run.go_on():
            break
    due = Replace if run.is_edited else Finish
    assert [type(end) for end in run.ends] == [due], run.statuses
    if not run.is_edited:
        assert all(status in OVER for status in run.statuses.values())
    replayed = Schedule(run.limits)
    for event, commands in run.history:
        assert replayed.advance(event) == commands


def started(steps: list[dict[str, Any]], limits: ConcurrencyLimits, seed: int) -> Run:
    chance = random.Random(seed)  # noqa: S311 - the order of events
    luck, restores = chance.choice([1.0, 0.9, 0.6]), chance.choice([0.0, 0.0, 0.3])
    run = Run(limits, seed, luck, restores)
    run.begin(compiled(steps), asks=chance.random() < 0.2)
    return run


MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@MANY
@given(PLANS, LIMITS, st.integers(0, 2**32))
def test_any_plan_with_members_ends_as_the_page_says(
    steps: list[dict[str, Any]], limits: ConcurrencyLimits, seed: int
) -> None:
    finished(started(steps, limits, seed))


@MANY
@given(PLANS, LIMITS, st.integers(0, 2**32), st.integers(0, 12))
def test_any_plan_with_members_can_be_cancelled_at_any_time(
    steps: list[dict[str, Any]], limits: ConcurrencyLimits, seed: int, after: int
) -> None:
    run = started(steps, limits, seed)
    for _ in range(after):
        run.go_on()
    if not any(isinstance(end, Finish) for end in run.ends):
        run.cancel()
        finished(run)


@MANY
@given(PLANS, LIMITS, st.integers(0, 2**32), st.integers(0, 12))
def test_any_plan_with_members_can_be_replaced_at_any_time(
    steps: list[dict[str, Any]], limits: ConcurrencyLimits, seed: int, after: int
) -> None:
    run = started(steps, limits, seed)
    for _ in range(after):
        run.go_on()
    if not any(isinstance(end, Finish) for end in run.ends):
        run.edit()
        finished(run)


# --- by hand ------------------------------------------------------------------------------------

EACH = {"agent": "Reader", "output": JSON}
THREE = {"items": ["a", "b", "c"]}


def by_hand(*steps: dict[str, Any]) -> Run:
    """Begin a run all of whose attempts succeed unless they are said to fail."""
    run = Run(ConcurrencyLimits(9), 0, luck=1.0, restores=0.0)
    full = [{**EACH, "prompt": step["id"], **step} for step in steps]
    run.begin(compiled([{k: v for k, v in step.items() if v is not None} for step in full]))
    return run


def fail(run: Run, name: str) -> None:
    del run.running[name]
    run.emit(AttemptFinished(name, "failed"))


def test_an_instance_begins_when_the_one_that_it_follows_has_succeeded() -> None:
    run = by_hand({"id": "S1", "for_each": THREE}, {"id": "S2", "for_each": {"items": "S1"}})
    run.end("S1[2]")
    assert [*run.running] == ["S1[1]", "S1[3]", "S2[2]"]


def test_what_a_step_succeeds_without_is_not_asked_of_the_step_that_follows_it() -> None:
    run = by_hand(
        {"id": "S1", "for_each": {**THREE, "at_least": 2}},
        {"id": "S2", "for_each": {"items": "S1", "at_least": 0.5}},
    )
    fail(run, "S1[1]")
    run.end("S1[2]")
    fail(run, "S2[2]")
    run.end("S1[3]")
    assert run.statuses["S1"] == "succeeded"
    run.end("S2[3]")
    # One of the two that count.
    assert (run.statuses["S2[1]"], run.statuses["S2"]) == ("skipped", "succeeded")


def test_an_optional_step_needs_its_instances_all_the_same() -> None:
    run = by_hand(
        {"id": "S1", "for_each": THREE, "optional": True}, {"id": "S2", "for_each": {"items": "S1"}}
    )
    fail(run, "S1[1]")
    assert run.statuses["S2[1]"] == "skipped"
    run.end("S1[2]")
    run.end("S1[3]")
    assert (run.statuses["S1[1]"], run.statuses["S1"]) == ("failed", "skipped")


def test_a_person_is_asked_about_a_plan_inside_a_step_before_any_of_it_begins() -> None:
    inner = {"steps": [{**EACH, "id": "S1", "prompt": "read"}]}
    none = {"agent": None, "prompt": None, "output": None}
    run = by_hand({"id": "S1", "plan": inner, "approval": True, **none})
    assert run.open == {"S1"}
    run.answer("S1")
    assert [*run.running] == ["S1.S1"]
