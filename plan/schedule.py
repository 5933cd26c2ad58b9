"""The schedule, a pure event-driven state machine: it decides which step runs next."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .compile import CompiledStep
from .expand import needed_of
from .schedule_events import (
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
    EndStatus,
    Event,
    Expand,
    Expanded,
    Finish,
    Launch,
    Messaged,
    PlanExtended,
    Rejected,
    Replace,
    RunStatus,
    Skip,
    StepStatus,
    TakeTurn,
    TurnCause,
    Wait,
)

__all__ = ["ConcurrencyLimits", "Schedule"]


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """How much may run in parallel: in all, and on each tier that has a limit of its own."""

    max_concurrency: int
    tiers: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True)
class _Node:
    """A step, and how far it is.

    Attributes:
        pending: Steps that it still waits for.
        parent: The step that it is a member of.
        by_condition: Whether it was skipped by a condition.
        is_decided: Whether its condition was found to hold.
        is_resolving: Whether its condition, or its members, are being worked out.
        is_expanded: Whether it has all of its members.
        open: Members that aren't over.
    """

    step: CompiledStep
    order: int
    tier: str
    pending: int
    status: StepStatus = "waiting"
    attempts: int = 0
    under_way: bool = False
    asks: bool = False
    begun: bool = False
    waived: bool = False
    given_up: bool = False
    parent: str = ""
    by_condition: bool = False
    is_decided: bool = False
    is_resolving: bool = False
    is_expanded: bool = False
    open: int = 0
    counted: tuple[str, ...] = ()
    needed: int = 0
    downstream: list[str] = field(default_factory=list[str])
    followers: list[str] = field(default_factory=list[str])


class Schedule:
    """The state machine. Feed it events with `advance` and carry out the commands it returns."""

    def __init__(self, limits: ConcurrencyLimits) -> None:
        self._limits = limits
        self._nodes: dict[str, _Node] = {}
        self._ready: dict[str, list[tuple[bool, float, int, str]]] = {}
        self._running: dict[str, int] = {}
        self._changed: dict[str, None] = {}
        self._asked: set[str] = set()
        self._ended: list[_Node] = []
        self._resolving = 0
        self._unfinished = 0
        self._cancelled = False
        self._plan_asked = False
        self._plan_rejected = False
        self._edited = False
        self._look_after: frozenset[str] | None = None
        self._is_turn = False
        self._has_new_failure = False
        self._has_message = False

    @property
    def statuses(self) -> dict[str, StepStatus]:
        """Every step's status, by id, in the order in which they came."""
        return {name: node.status for name, node in self._nodes.items()}

    def take_changes(self) -> dict[str, StepStatus]:
        """Return the statuses that have changed since the last call, by the steps' ids."""
        changed, self._changed = self._changed, {}
        return {name: self._nodes[name].status for name in changed}

    def advance(self, event: Event) -> list[Command]:
        """Take one event and return what to do about it, in order.

        Raises:
            ValueError: The event does not fit the state: an unknown or repeated step, a dependency
                that is not there, the end of an attempt that is not running, or an answer to what
                is not asked.
        """
        commands: list[Command] = []
        match event:
            case PlanExtended():
                self._extend(event, commands)
            case Expanded():
                self._expand(event, commands)
            case Decided():
                self._decided(event, commands)
            case AttemptFinished():
                self._attempt_finished(event, commands)
            case Approved(step):
                self._approve(step, commands)
            case Rejected(step):
                self._reject(step, commands)
            case Messaged():
                self._has_message = True
            case Edited():
                self._edited = not self._cancelled
                self._is_turn = False
            case Cancelled():
                self._cancel(commands)
        self._settle(commands)
        self._conclude(commands)
        return commands

    def _conclude(self, commands: list[Command]) -> None:
        """Launch what may start, and say what there is to wait for, if it is not an attempt."""
        if not self._edited and not self._plan_asked:
            self._launch(commands)
        is_idle = not (self._resolving or self._is_turn or any(self._running.values()))
        if self._edited:
            if is_idle:
                commands.append(Replace())
        elif (cause := self._turn_cause()) is not None:
            self._is_turn, self._has_new_failure, self._has_message = True, False, False
            commands.append(TakeTurn(cause))
        elif self._is_turn:
            return
        elif self._unfinished == 0:
            commands.append(Finish(self._status()))
        elif is_idle and (self._plan_asked or self._asked):
            commands.append(Wait())

    def _turn_cause(self) -> TurnCause | None:
        """Return why the orchestrator has a turn now; None if it has none."""
        if self._look_after is None or self._is_turn or self._cancelled or self._plan_asked:
            return None
        if self._unfinished == 0:
            return "over"
        if self._has_new_failure:
            return "failed"
        if self._has_message:
            return "message"
        seen = self._look_after and all(self._nodes[n].status in OVER for n in self._look_after)
        return "seen" if seen else None

    def _set(self, node: _Node, status: StepStatus) -> None:
        node.status = status
        self._changed[node.step.id] = None
        if status == "asked":
            self._asked.add(node.step.id)
        else:
            self._asked.discard(node.step.id)

    def _extend(self, plan: PlanExtended, commands: list[Command]) -> None:
        self._check(plan.steps)
        self._is_turn = False
        for name in plan.without & self._nodes.keys():
            self._nodes[name].waived = True
        if plan.asked:
            if self._nodes:
                raise ValueError("a plan that was begun can't be asked about")
            self._plan_asked = True
            commands.append(Ask())
        for step in plan.steps:
            if step.id in plan.done:
                self._add_done(step)
            else:
                self._add(step, plan, commands)
        for name in plan.given_up:
            self._give_up(self._known_node(name), commands)
        self._look_after = plan.look_after
        for name in plan.look_after or ():
            self._known_node(name)

    def _known_node(self, name: str) -> _Node:
        if (node := self._nodes.get(name)) is None:
            raise ValueError(f"step {name} is unknown")
        return node

    def _give_up(self, node: _Node, commands: list[Command]) -> None:
        """End a step and its members, and let what needs it go on without it."""
        if node.status in OVER:
            return
        node.waived = node.given_up = True
        if node.step.is_group:
            for member in [each for each in self._nodes.values() if each.parent == node.step.id]:
                self._give_up(member, commands)
        elif node.status == "running":
            commands.append(Cancel(node.step.id))
            return
        elif node.status == "ready":
            waiting = self._ready[node.tier]
            self._ready[node.tier] = [entry for entry in waiting if entry[-1] != node.step.id]
            heapq.heapify(self._ready[node.tier])
        self._end(node, "skipped")

    def _add_done(self, step: CompiledStep, parent: str = "") -> None:
        node = _Node(step, len(self._nodes), step.tier, pending=0, parent=parent)
        self._nodes[step.id] = node
        self._set(node, "succeeded")

    def _check(self, steps: Iterable[CompiledStep]) -> None:
        fresh: set[str] = set()
        for step in steps:
            if step.id in self._nodes or step.id in fresh:
                raise ValueError(f"step {step.id} is in the plan already")
            for needed in step.needs:
                if needed not in self._nodes and needed not in fresh:
                    raise ValueError(f"step {step.id} depends on {needed}, which is not there")
            fresh.add(step.id)

    def _add(
        self,
        step: CompiledStep,
        plan: PlanExtended | Expanded,
        commands: list[Command],
        parent: str = "",
    ) -> None:
        names = dict.fromkeys((*step.upstream, *step.waits_for))
        above = [self._nodes[needed] for needed in names]
        followed = self._nodes[step.follows] if step.follows else None
        node = _Node(
            step,
            len(self._nodes),
            step.tier,
            pending=sum(node.status not in OVER for node in above),
            under_way=isinstance(plan, PlanExtended) and step.id in plan.under_way,
            asks=step.id in plan.approval,
            waived=isinstance(plan, PlanExtended) and step.id in plan.without,
            parent=parent,
        )
        self._nodes[step.id] = node
        self._set(node, "waiting")
        self._unfinished += 1
        for upper in above:
            if upper.status not in OVER:
                upper.downstream.append(step.id)
        if followed is not None and not followed.is_expanded:
            if followed.status in OVER:
                above.append(followed)
            else:
                followed.followers.append(step.id)
                node.pending += 1
        if self._cancelled:
            self._end(node, "cancelled")
        elif self._plan_rejected:
            commands.append(Skip(step.id, ""))
            self._end(node, "skipped")
        elif blocked := next((n for n in above if _blocks(n)), None):
            commands.append(Skip(step.id, blocked.step.id))
            self._end(node, "skipped")
        elif node.pending == 0:
            self._enter(node, commands)

    def _enter(self, node: _Node, commands: list[Command]) -> None:
        """Take a step whose needs are over: it is admitted, unless a condition has left it none."""
        if cause := self._nothing_left(node):
            node.by_condition = True
            commands.append(Skip(node.step.id, cause, None, by_condition=True))
            self._end(node, "skipped")
        else:
            self._admit(node, commands)

    def _nothing_left(self, node: _Node) -> str:
        """Return the cause where all that a step reads was skipped by a condition; "" else."""
        step = node.step
        if step.follows and (followed := self._nodes[step.follows]).by_condition:
            return followed.step.id
        source = step.source
        if source and self._nodes[source].by_condition:
            return source
        upstream = [self._nodes[name] for name in step.upstream]
        if upstream and all(above.by_condition for above in upstream):
            return upstream[0].step.id
        return ""

    def _decided(self, event: Decided, commands: list[Command]) -> None:
        node = self._resolved(event.step)
        if node.status in OVER:
            return
        node.is_decided = True
        if event.holds:
            self._admit(node, commands)
        else:
            node.by_condition = True
            self._end(node, "skipped")

    def _resolved(self, step: str) -> _Node:
        node = self._nodes.get(step)
        if node is None or not node.is_resolving:
            raise ValueError(f"nothing about step {step} is being worked out")
        node.is_resolving = False
        self._resolving -= 1
        return node

    def _expand(self, event: Expanded, commands: list[Command]) -> None:
        node = self._resolved(event.step)
        self._check(event.steps)
        if node.status in OVER:
            return
        if event.outcome == "asked":
            node.begun = True
            self._set(node, "asked")
            commands.append(Ask(node.step.id, 1, begun=True))
            return
        if event.outcome:
            is_optional = event.outcome == "failed" and node.step.optional
            status: EndStatus = "skipped" if is_optional else event.outcome
            commands.append(Close(event.step, status))
            self._end(node, status)
            return
        node.counted, node.needed = event.counted, event.needed
        node.is_expanded = event.is_complete
        # One more, so that it isn't closed before all of them are there.
        node.open += len(event.steps) + 1
        for step in event.steps:
            if step.id in event.done:
                self._add_done(step, event.step)
                node.open -= 1
            else:
                self._add(step, event, commands, event.step)
        if node.is_expanded:
            self._free_followers(node, commands)
        node.open -= 1
        self._close_if_over(node, commands)

    def _free_followers(self, node: _Node, commands: list[Command]) -> None:
        for name in node.followers:
            below = self._nodes[name]
            if below.status != "waiting":
                continue
            below.pending -= 1
            if below.pending == 0 and not self._cancelled:
                self._enter(below, commands)

    def _close_if_over(self, node: _Node, commands: list[Command]) -> None:
        if node.open or node.status in OVER:
            return
        followed = self._nodes.get(node.step.follows)
        if node.is_expanded and followed is not None and followed.status not in OVER:
            # What that one succeeds without isn't asked of this one: its end closes both.
            return
        if node.is_expanded:
            status = self._group_status(node)
            commands.append(Close(node.step.id, status, node.by_condition))
            self._end(node, status)
        elif not self._cancelled:
            self._resolve(node, Expand(node.step.id), commands)

    def _group_status(self, node: _Node) -> EndStatus:
        members = [self._nodes[name] for name in node.counted]
        if members and all(member.by_condition for member in members):
            node.by_condition = True
            return "skipped"
        without = self._done_without(node)
        counted = [
            member
            for member in members
            if not member.by_condition and without.isdisjoint(_items_of(member.step))
        ]
        needed, for_each = node.needed, node.step.for_each
        if for_each is not None and len(counted) < len(members):
            needed = needed_of(for_each, len(counted))
        if sum(not _is_lost(member) for member in counted) >= needed:
            return "succeeded"
        return "skipped" if node.step.optional else "failed"

    def _done_without(self, node: _Node) -> frozenset[str]:
        """Return the instances that the step which it follows succeeded without."""
        followed = self._nodes.get(node.step.follows)
        if followed is None or followed.status != "succeeded":
            return frozenset()
        return frozenset(name for name in followed.counted if _is_lost(self._nodes[name]))

    def _resolve(self, node: _Node, command: Decide | Expand, commands: list[Command]) -> None:
        node.is_resolving = True
        self._resolving += 1
        commands.append(command)

    def _attempt_finished(self, event: AttemptFinished, commands: list[Command]) -> None:
        node = self._nodes.get(event.step)
        if node is None or node.status != "running":
            state = "unknown" if node is None else node.status
            raise ValueError(f"step {event.step} is {state}, so no attempt of it can finish")
        self._running[node.tier] -= 1
        if event.outcome == "waived" or (node.given_up and event.outcome != "succeeded"):
            node.waived = True
            self._end(node, "skipped")
        elif event.outcome not in ("retry", "asked"):
            self._end(node, event.outcome)
        elif self._cancelled:
            self._end(node, "cancelled")
        else:
            node.begun = event.outcome == "asked"
            node.asks = event.asks or node.begun
            # An attempt that waits in its middle is the same one when it goes on.
            node.attempts -= node.begun
            node.tier = event.tier or node.tier
            self._admit(node, commands)

    def _approve(self, step: str, commands: list[Command]) -> None:
        if not step:
            self._require_plan_asked()
            self._plan_asked = False
            for node in list(self._nodes.values()):
                if node.status == "waiting" and node.pending == 0:
                    self._admit(node, commands)
            return
        node = self._asked_node(step)
        node.asks = node.begun = False
        if node.step.is_group:
            self._set(node, "running")
            self._resolve(node, Expand(step), commands)
        else:
            self._queue(node)

    def _reject(self, step: str, commands: list[Command]) -> None:
        if step:
            node = self._asked_node(step)
            self._end(node, "skipped" if node.step.optional else "failed")
            return
        self._require_plan_asked()
        self._plan_asked, self._plan_rejected = False, True
        for node in self._nodes.values():
            if node.status not in OVER:
                self._set(node, "skipped")
                self._unfinished -= 1
                commands.append(Skip(node.step.id, ""))

    def _require_plan_asked(self) -> None:
        if not self._plan_asked:
            raise ValueError("the plan is not asked about, so nothing about it can be answered")

    def _asked_node(self, step: str) -> _Node:
        node = self._nodes.get(step)
        if node is None or node.status != "asked":
            state = "unknown" if node is None else node.status
            raise ValueError(f"step {step} is {state}, so nothing about it can be answered")
        return node

    def _cancel(self, commands: list[Command]) -> None:
        self._cancelled = True
        self._plan_asked = self._edited = self._is_turn = False
        self._ready.clear()
        for node in self._nodes.values():
            if node.status == "running" and not node.step.is_group:
                commands.append(Cancel(node.step.id))
            elif node.status not in OVER:
                self._set(node, "cancelled")
                self._unfinished -= 1

    def _admit(self, node: _Node, commands: list[Command]) -> None:
        """Take a step whose inputs are there: it may run once nobody has to be asked about it."""
        if self._plan_asked or node.is_resolving:
            return
        if node.step.when is not None and not node.is_decided:
            self._resolve(node, Decide(node.step.id), commands)
            return
        step = node.step
        # Each instance, and each round, is asked about by itself; the steps of a plan are not.
        has_asking_members = step.for_each is not None or step.repeat is not None
        if step.is_group and (has_asking_members or not node.asks):
            self._set(node, "running")
            self._resolve(node, Expand(step.id), commands)
            return
        if not node.asks:
            self._queue(node)
            return
        self._set(node, "asked")
        if not self._edited:
            commands.append(Ask(node.step.id, node.attempts + 1, node.begun))

    def _queue(self, node: _Node) -> None:
        self._set(node, "ready")
        # What runs already is launched before anything else may take its room.
        entry = (not node.under_way, -node.step.priority, node.order, node.step.id)
        heapq.heappush(self._ready.setdefault(node.tier, []), entry)

    def _end(self, node: _Node, status: StepStatus) -> None:
        self._set(node, status)
        self._unfinished -= 1
        self._ended.append(node)
        if status == "failed" and not node.parent and not _dispensable(node):
            self._has_new_failure = True

    def _settle(self, commands: list[Command]) -> None:
        """Let the steps that have ended lead to what follows them."""
        while self._ended:
            over = self._ended.pop()
            # First the step that it is a member of: others go by how that ended.
            if over.parent:
                parent = self._nodes[over.parent]
                parent.open -= 1
                self._close_if_over(parent, commands)
            self._close_followers(over, commands)
            for name in (*over.downstream, *(() if over.is_expanded else over.followers)):
                below = self._nodes[name]
                if below.status != "waiting":
                    continue
                below.pending -= 1
                if self._cancelled:
                    continue
                if _blocks(over):
                    commands.append(Skip(name, over.step.id))
                    self._end(below, "skipped")
                elif below.pending == 0:
                    self._enter(below, commands)

    def _close_followers(self, over: _Node, commands: list[Command]) -> None:
        for name in over.followers if over.is_expanded else ():
            if (follower := self._nodes[name]).is_expanded:
                self._close_if_over(follower, commands)

    def _launch(self, commands: list[Command]) -> None:
        free = self._limits.max_concurrency - sum(self._running.values())
        while free > 0 and (tier := self._next_tier()) is not None:
            *_, name = heapq.heappop(self._ready[tier])
            node = self._nodes[name]
            self._set(node, "running")
            node.attempts += 1
            self._running[tier] = self._running.get(tier, 0) + 1
            free -= 1
            commands.append(Launch(name, node.attempts, tier))

    def _next_tier(self) -> str | None:
        open_tiers = [
            tier
            for tier, waiting in self._ready.items()
            if waiting and self._running.get(tier, 0) < self._tier_limit(tier)
        ]
        return min(open_tiers, key=lambda tier: self._ready[tier][0], default=None)

    def _tier_limit(self, tier: str) -> int:
        return self._limits.tiers.get(tier, self._limits.max_concurrency)

    def _is_result(self, node: _Node) -> bool:
        """Whether somebody who reads the run gets something of a step: an instance is enough."""
        is_part = node.parent and not self._nodes[node.parent].step.for_each
        return node.status == "succeeded" and not is_part

    def _status(self) -> RunStatus:
        if not any(self._is_result(node) for node in self._nodes.values()):
            return "failed"
        nodes = [node for node in self._nodes.values() if not node.parent]
        complete = all(node.status == "succeeded" or _dispensable(node) for node in nodes)
        return "completed" if complete else "partial"


def _blocks(node: _Node) -> bool:
    return node.status in ("failed", "skipped", "cancelled") and not _dispensable(node)


def _is_lost(member: _Node) -> bool:
    return member.status in ("failed", "skipped", "cancelled") and not member.waived


def _items_of(step: CompiledStep) -> tuple[str, ...]:
    """Return the steps of which one has the item of an instance that follows another."""
    return (step.source, step.follows, *step.upstream)


def _dispensable(node: _Node) -> bool:
    return node.step.optional or node.waived or node.by_condition
