"""Events of a run on the Prefect server, which automations act upon. What is said is pure.

docs/reference/prefect_events.md has the names and what each has.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from prefect.context import FlowRunContext

from ...errors import Category
from ...host.secrets import mask_written, secrets_in
from ...models.request_context import ITS_TURN
from ...store.events import (
    AnsweredEvent,
    AskedEvent,
    EndedEvent,
    FinishedEvent,
    GateEvent,
    PlannedEvent,
    RunEvent,
    SpentEvent,
    TurnEvent,
    WaitEvent,
)
from ...text import one_line
from .flow_run import send_event

__all__ = ["MOST_SENT", "NEAR", "Notice", "Notices", "PrefectEvents"]

MOST_SENT = 500
"""Events that a process sends of a run, its end aside: Prefect keeps all that its server can't take
in memory, without a bound unless a setting has one."""
NEAR = 0.8
"""The share of a bound from which on it is near."""
_AGAIN_S = 600.0
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Notice:
    """What is told of a run.

    Attributes:
        name: The event's, without the `swarm.` before it.
        payload: What there is to say, in values of JSON.
        labels: What automations tell apart by, beside the flow run: labels of the resource.
    """

    name: str
    payload: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Notices:
    """Makes notices of a run's events, one after the other.

    Attributes:
        max_tokens, max_usd: The run's bounds; None for none.
        secrets: Values that no notice has.
    """

    max_tokens: int | None = None
    max_usd: float | None = None
    secrets: Collection[str] = ()
    _told: set[str] = field(init=False, default_factory=set[str])
    _waited: dict[str, float] = field(init=False, default_factory=dict[str, float])

    def of(self, event: RunEvent) -> tuple[Notice, ...]:
        """Return what an event comes to; nothing for most."""
        return tuple(self._of(event))

    def _of(self, event: RunEvent) -> Iterator[Notice]:
        match event:
            case PlannedEvent():
                said = {"steps": len(event.steps), "irreversible": self._text(event.irreversible)}
                yield Notice("run.planned", said)
            case TurnEvent():
                said = {"turn": event.number_of_turn, "cause": event.cause}
                yield Notice("run.turn", {**said, "steps": len(event.steps)})
            case FinishedEvent():
                yield from self._finished(event)
            case EndedEvent():
                yield from self._ended(event)
            case GateEvent(status="failed"):
                said = {**_about(event), "gate": event.gate, "found": self._text(event.found)}
                yield Notice("gate.failed", said, {"swarm.gate": event.gate})
            case AskedEvent():
                said = {**_about(event), "question": event.question}
                yield Notice("approval.requested", {**said, "title": self._text(event.title)})
            case AnsweredEvent():
                said = {**_about(event), "question": event.question, "verdict": event.verdict}
                yield Notice("approval.answered", {**said, "by": event.by, "name": event.name})
            case SpentEvent():
                yield from self._spent(event)
            case WaitEvent(kind="waiting"):
                yield from self._waiting(event)
            case _:
                pass

    def _finished(self, event: FinishedEvent) -> Iterator[Notice]:
        if event.status in ("cancelled", "waiting"):
            return
        # One that was left by an error has no result, and is a failure to whoever looks after it.
        ended = "failed" if event.status == "unfinished" else event.status
        said = {
            "status": event.status,
            "problem": self._text(event.problem),
            "missing": self._text(event.missing),
            "calls": event.calls,
            "tokens": event.tokens,
            "usd": event.cost_usd,
        }
        yield Notice(f"run.{ended}", said)

    def _ended(self, event: EndedEvent) -> Iterator[Notice]:
        is_failed = event.kind == "failed" or (event.kind == "skipped" and event.attempt)
        if event.kind == "retrying" or is_failed:
            said = {
                **_about(event),
                "agent": self._text(event.agent),
                "tier": event.tier,
                "category": event.category,
                "problem": self._text(event.reason),
            }
            yield Notice("step.failed" if is_failed else "step.retried", said)
        if event.category == Category.BUDGET and self._is_first("over"):
            yield Notice("budget.over", {**_about(event), "words": self._text(event.reason)})

    def _spent(self, event: SpentEvent) -> Iterator[Notice]:
        spent = {"max_tokens": event.tokens, "max_usd": event.cost_usd or 0.0}
        limits = {"max_tokens": self.max_tokens, "max_usd": self.max_usd}
        for bound, limit in limits.items():
            if limit and (share := spent[bound] / limit) >= NEAR and self._is_first(bound):
                said = {"bound": bound, "spent": spent[bound], "limit": limit}
                words = f"{share:.0%} of {bound} is spent."
                yield Notice("budget.near", {**said, "words": words})

    def _waiting(self, event: WaitEvent) -> Iterator[Notice]:
        """Tell of a provider that can't be had: not of a turn that one waits for."""
        last = self._waited.get(event.provider)
        if event.why == ITS_TURN or (last is not None and event.at - last < _AGAIN_S):
            return
        self._waited[event.provider] = event.at
        provider = self._text(event.provider)
        said = {"provider": provider, "why": self._text(event.why), "seconds": event.seconds}
        yield Notice("provider.unavailable", said, {"swarm.provider": provider})

    def _is_first(self, what: str) -> bool:
        if what in self._told:
            return False
        self._told.add(what)
        return True

    def _text(self, text: str) -> str:
        return mask_written(one_line(text, _SHOWN), self.secrets)


def _about(event: RunEvent) -> dict[str, Any]:
    return {"step": event.step, "attempt": event.attempt}


@dataclass(slots=True)
class PrefectEvents:
    """Sends the notices of a run to the server, of which its flow run is the resource.

    Prefect sends them from a thread of its own, and adds the flow, the deployment, the work pool
    and the tags. A server that can't be reached costs nothing.
    """

    flow_run_id: UUID
    name: str
    notices: Notices
    _context: Context = field(init=False, default_factory=copy_context)
    _left: int = field(init=False, default=MOST_SENT)

    @staticmethod
    def of_run(flow_run_id: str, max_tokens: int | None, max_usd: float | None) -> PrefectEvents:
        """Return what sends the events of the flow run around this code."""
        secrets = frozenset(secrets_in(os.environ))
        around = FlowRunContext.get()
        name = around.flow_run.name if around and around.flow_run else ""
        return PrefectEvents(UUID(flow_run_id), name, Notices(max_tokens, max_usd, secrets))

    def handle(self, event: RunEvent) -> None:
        """Take the next event of the run."""
        for notice in self.notices.of(event):
            is_end = isinstance(event, FinishedEvent)
            if self._left or is_end:
                self._left = max(0, self._left - 1)
                self._send(notice, event.run)

    def _send(self, notice: Notice, run: str) -> None:
        # Subagents have contexts of their own, whose task runs would be related.
        self._context.run(
            send_event,
            f"swarm.{notice.name}",
            self.flow_run_id,
            self.name,
            {"swarm.run": run, **notice.labels},
            payload={"run": run, **notice.payload},
        )
