"""Which step runs next: a pure, deterministic, event-driven state machine.

It has no clock, does no I/O and knows nothing of Prefect. Events go in, commands come out, and
the same events give the same commands. A step is launched the moment its own inputs are there:
there are no waves and no barriers. Among steps that could run, the one with the longest remaining
path goes first (list scheduling; Graham, 1969), as many as the limits allow.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

from .events import (
    AttemptFinished,
    Cancel,
    Cancelled,
    Command,
    ConcurrencyLimits,
    Event,
    Finish,
    Launch,
    PlanExtended,
    RunStatus,
    Schedulable,
    Skip,
    StepStatus,
)

__all__ = ["Schedule"]

_OVER = frozenset({"succeeded", "failed", "skipped", "cancelled"})


@dataclass(slots=True)
class _Node:
    step: Schedulable
    order: int
    tier: str
    pending: int
    status: StepStatus = "waiting"
    attempts: int = 0
    begun: bool = False
    waived: bool = False
    downstream: list[str] = field(default_factory=list[str])


class Schedule:
    """The state machine. Feed it events with `advance` and carry out the commands it returns."""

    def __init__(self, limits: ConcurrencyLimits) -> None:
        self._limits = limits
        self._nodes: dict[str, _Node] = {}
        self._ready: dict[str, list[tuple[bool, float, int, str]]] = {}
        self._running: dict[str, int] = {}
        self._unfinished = 0
        self._cancelled = False

    @property
    def statuses(self) -> dict[str, StepStatus]:
        """Every step's status, by id, in the plan's order."""
        return {name: node.status for name, node in self._nodes.items()}

    def advance(self, event: Event) -> list[Command]:
        """Take one event and return what to do about it, in order.

        Raises:
            ValueError: The event does not fit the state: an unknown or repeated step, a dependency
                that is not there, or the end of an attempt that is not running.
        """
        commands: list[Command] = []
        match event:
            case PlanExtended():
                self._extend(event, commands)
            case AttemptFinished():
                self._attempt_finished(event, commands)
            case Cancelled():
                self._cancel(commands)
        self._launch(commands)
        if self._unfinished == 0:
            commands.append(Finish(self._status()))
        return commands

    def _extend(self, plan: PlanExtended, commands: list[Command]) -> None:
        self._check(plan.steps)
        for step in plan.steps:
            if step.id in plan.done:
                self._nodes[step.id] = _Node(
                    step, len(self._nodes), step.tier, pending=0, status="succeeded"
                )
            else:
                self._add(step, commands, begun=step.id in plan.begun)

    def _check(self, steps: Iterable[Schedulable]) -> None:
        known = set(self._nodes)
        for step in steps:
            if step.id in known:
                raise ValueError(f"step {step.id} is in the plan already")
            if missing := [needed for needed in step.upstream if needed not in known]:
                raise ValueError(f"step {step.id} depends on {missing[0]}, which is not there")
            known.add(step.id)

    def _add(self, step: Schedulable, commands: list[Command], *, begun: bool) -> None:
        above = [self._nodes[needed] for needed in step.upstream]
        pending = sum(node.status not in _OVER for node in above)
        node = _Node(step, len(self._nodes), step.tier, pending, begun=begun)
        self._nodes[step.id] = node
        self._unfinished += 1
        for upper in above:
            upper.downstream.append(step.id)
        if self._cancelled:
            self._end(node, "cancelled", commands)
        elif blocked := next((n for n in above if _blocks(n)), None):
            commands.append(Skip(step.id, blocked.step.id))
            self._end(node, "skipped", commands)
        elif pending == 0:
            self._queue(node)

    def _attempt_finished(self, event: AttemptFinished, commands: list[Command]) -> None:
        node = self._nodes.get(event.step)
        if node is None or node.status != "running":
            state = "unknown" if node is None else node.status
            raise ValueError(f"step {event.step} is {state}, so no attempt of it can finish")
        self._running[node.tier] -= 1
        if event.outcome == "waived":
            node.waived = True
            self._end(node, "skipped", commands)
        elif event.outcome != "retry":
            self._end(node, event.outcome, commands)
        elif self._cancelled:
            self._end(node, "cancelled", commands)
        else:
            node.tier = event.tier or node.tier
            self._queue(node)

    def _cancel(self, commands: list[Command]) -> None:
        self._cancelled = True
        self._ready.clear()
        for node in self._nodes.values():
            if node.status == "running":
                commands.append(Cancel(node.step.id))
            elif node.status in ("waiting", "ready"):
                node.status = "cancelled"
                self._unfinished -= 1

    def _queue(self, node: _Node) -> None:
        node.status = "ready"
        # What runs already is launched before anything else may take its room.
        entry = (not node.begun, -node.step.priority, node.order, node.step.id)
        heapq.heappush(self._ready.setdefault(node.tier, []), entry)

    def _end(self, node: _Node, status: StepStatus, commands: list[Command]) -> None:
        node.status = status
        ending = [node]
        while ending:
            over = ending.pop()
            self._unfinished -= 1
            for name in over.downstream:
                below = self._nodes[name]
                if below.status != "waiting":
                    continue
                below.pending -= 1
                if self._cancelled:
                    continue
                if _blocks(over):
                    below.status = "skipped"
                    commands.append(Skip(name, over.step.id))
                    ending.append(below)
                elif below.pending == 0:
                    self._queue(below)

    def _launch(self, commands: list[Command]) -> None:
        free = self._limits.max_concurrency - sum(self._running.values())
        while free > 0 and (tier := self._next_tier()) is not None:
            *_, name = heapq.heappop(self._ready[tier])
            node = self._nodes[name]
            node.status = "running"
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

    def _status(self) -> RunStatus:
        nodes = self._nodes.values()
        if not any(node.status == "succeeded" for node in nodes):
            return "failed"
        complete = all(node.status == "succeeded" or _dispensable(node) for node in nodes)
        return "completed" if complete else "partial"


def _blocks(node: _Node) -> bool:
    return node.status in ("failed", "skipped", "cancelled") and not _dispensable(node)


def _dispensable(node: _Node) -> bool:
    return node.step.optional or node.waived
