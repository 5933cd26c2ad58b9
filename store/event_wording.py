"""A run's events as lines that a person reads: in its log, and in a terminal's progress. Pure.

No line has a prompt or what a model wrote, except for the reasons of failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..text import dollars, duration, one_line, plural
from .events import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    DecisionEvent,
    DirectingEvent,
    EndedEvent,
    ExpandedEvent,
    ExploringEvent,
    FinishedEvent,
    GateEvent,
    MessageEvent,
    PartEvent,
    PlannedEvent,
    PlannedStep,
    PlanningEvent,
    RunEvent,
    StartedEvent,
    TurnEvent,
    UndoneEvent,
    WaitEvent,
)

if TYPE_CHECKING:
    from .result import Undone

__all__ = [
    "TURN_CAUSES",
    "LogState",
    "attempt_words",
    "decided_by",
    "is_warning",
    "log_line",
    "part_words",
    "planned_lines",
    "turn_words",
    "undone_words",
]


_WHO, _WHY, _LINE = 40, 300, 1000
_MOST_STEPS = 100
_BAD_ENDS = frozenset({"partial", "failed", "unfinished"})


@dataclass(slots=True)
class LogState:
    """What a line needs to know of the events before it.

    Attributes:
        began_at: When the process began to work on the run; None until it did.
        agents: Who is planned to do each step.
        started: The steps of which this process has started an attempt.
        calls: Those of them that are calls of a tool: on no tier, without a model.
        gates: The verdicts on each step's latest attempt, by the gate's name.
    """

    began_at: float | None = None
    agents: dict[str, str] = field(default_factory=dict[str, str])
    started: set[str] = field(default_factory=set[str])
    calls: set[str] = field(default_factory=set[str])
    gates: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def handle(self, event: RunEvent) -> None:
        """Take the next event."""
        match event:
            case BeganEvent():
                self.began_at = event.at
                self.started.clear()
            case PlannedEvent() | ExpandedEvent() | TurnEvent():
                self.agents.update({step.id: step.agent for step in event.steps})
            case StartedEvent():
                self.started.add(event.step)
                if not event.tier:
                    self.calls.add(event.step)
                self.gates[event.step] = {}
            case GateEvent():
                verdicts = self.gates.setdefault(event.step, {})
                # Of several candidates it counts that the gate let any of them through.
                if verdicts.get(event.gate) != "passed":
                    verdicts[event.gate] = event.status
            case _:
                pass


def is_warning(event: RunEvent) -> bool:
    """Whether a person should look at it: an attempt or a run that failed, steps nothing undoes."""
    match event:
        case EndedEvent():
            gave_up = event.kind == "skipped" and bool(event.attempt)
            return gave_up or event.kind in ("retrying", "failed")
        case FinishedEvent():
            return event.status in _BAD_ENDS or bool(event.missing)
        case PlannedEvent():
            return bool(event.irreversible)
        case _:
            return False


def log_line(event: RunEvent, state: LogState) -> str | None:
    """Write an event as a line, None where a person needs none.

    Args:
        event: What happened.
        state: What is known from the events up to it, itself included.
    """
    words = _words(event, state)
    return words and one_line(words, _LINE)


def _words(event: RunEvent, state: LogState) -> str | None:
    match event:
        case PlannedEvent():
            roots = sum(not step.upstream for step in event.steps)
            steps = plural(len(event.steps), "step")
            lasting = f". {event.irreversible.rstrip('.')}" if event.irreversible else ""
            return f"Plan of {steps}, {roots} of them can start immediately{lasting}"
        case ExpandedEvent():
            return _expanded(event)
        case PartEvent() | UndoneEvent():
            return _elsewhere(event)
        case TurnEvent():
            return f"Turn {event.number_of_turn} of the orchestrator: {turn_words(event)}"
        case StartedEvent():
            return f"{_who(event, state)} started: {attempt_words(event)}"
        case EndedEvent():
            return _ended(event, state)
        case DecisionEvent():
            return _decided(event, state)
        case WaitEvent(kind="waiting"):
            who = f"{_who(event, state)}: " if event.step else ""
            return who + one_line(_capital(event.words, start=not who), _WHY)
        case _:
            return _line_of_run(event, state)


def planned_lines(event: PlannedEvent) -> list[str]:
    """Write a line for each step of a plan: who does it, on which tier, and what it needs."""
    lines = [_planned(step) for step in event.steps[:_MOST_STEPS]]
    if more := len(event.steps) - len(lines):
        lines.append(f"… and {plural(more, 'more step')}")
    return lines


def decided_by(way: str, name: str) -> str:
    """Write which way a decision came, and who says that it is theirs: `by form (as "Ann")`."""
    who = f' (as "{one_line(name, _WHO)}")' if name else ""
    return f"by {one_line(way, _WHO)}{who}"


def _expanded(event: ExpandedEvent) -> str:
    names = [step.id for step in event.steps]
    first = ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]}"
    words = f"{event.step}: {plural(len(names), 'member')}{f', {first}' if names else ''}"
    return f"{words} ({event.note})" if event.note else words


def _elsewhere(event: PartEvent | UndoneEvent) -> str:
    if isinstance(event, PartEvent):
        return part_words(event)
    return f"{event.step} is {undone_words(event)}"


def attempt_words(event: StartedEvent) -> str:
    """Write which attempt it is, and on which tier; a call of a tool is on none."""
    return f"attempt {event.attempt}{f' on {event.tier}' if event.tier else ''}"


def undone_words(undone: UndoneEvent | Undone) -> str:
    """Write whether what a step did was undone, and by which call."""
    call = one_line(undone.call, _WHY)
    return f"not undone by {call}: {undone.problem}" if undone.problem else f"undone by {call}"


def part_words(event: PartEvent) -> str:
    """Write which flow run does a step, and how far that is."""
    name, pool = one_line(event.flow_run, _WHO), one_line(event.pool, _WHO)
    waits = ", and waits for a person" if event.state in ("Suspended", "Paused") else ""
    where = f": {event.url}" if event.url else ""
    words = f"{event.step}: flow run {name} on the work pool {pool} is {event.state}{waits}"
    return f"{words} (run {event.part}){where}"


def turn_words(event: TurnEvent) -> str:
    """Write what a turn of the orchestrator's decided."""
    read = f"has read message {', '.join(map(str, event.messages))}" if event.messages else ""
    words = [f"{plural(len(event.steps), 'step')} more"] if event.steps else []
    if event.given_up:
        words.append(f"gives up {', '.join(event.given_up)}")
    if event.look_after:
        words.append(f"next after {', '.join(event.look_after)}")
    if not words:
        words.append("it has finished" if event.finished else "nothing more")
    return ", ".join([*([read] if read else []), *words])


TURN_CAUSES: Mapping[str, str] = {
    "seen": "what it wanted is there",
    "failed": "a step has failed",
    "message": "a person has written",
    "over": "nothing is left",
}
"""Why the orchestrator has a turn, in words."""


def _planned(step: PlannedStep) -> str:
    tier = f" on {step.tier}" if step.tier else ""
    who = f"{step.id} {one_line(step.agent, _WHO)}{tier}".rstrip()
    needs = f", needs {', '.join(step.upstream)}" if step.upstream else ""
    return f"{who}{needs}{', optional' if step.optional else ''}"


def _line_of_run(event: RunEvent, state: LogState) -> str | None:
    match event:
        case BeganEvent():
            return f"Run {event.run} {'goes on' if event.resumed else 'begins'}"
        case ExploringEvent():
            most = plural(event.calls, "call")
            return f"{one_line(event.model, _WHO)} looks around before it plans, at most {most}"
        case PlanningEvent():
            return f"Asking {one_line(event.model, _WHO)} for the plan"
        case DirectingEvent(cause="seen" | "failed" | "message"):
            why = TURN_CAUSES[event.cause]
            return f"Asking the orchestrator for turn {event.number_of_turn}: {why}"
        case AskedEvent():
            answer = f"prefect-swarm approve {event.run} {event.question}"
            title = one_line(event.title, _WHY).rstrip(".")
            return f"Waiting for approval: {title}. Approve: {answer} (or reject)"
        case AnsweredEvent():
            by = f" {decided_by(event.by, event.name)}" if event.by else ""
            why = f": {one_line(event.why, _WHY)}" if event.why else ""
            return f"{event.question} is {event.verdict}{by}{why}"
        case MessageEvent():
            by = f" {decided_by(event.by, event.name)}" if event.by else ""
            return f"Message {event.message} to the orchestrator{by}: {one_line(event.text, _WHY)}"
        case AnsweringEvent(attempt=0 | 1):
            return "Writing the answer"
        case FinishedEvent():
            return _finished(event, state)
        case _:
            return None


def _who(event: RunEvent, state: LogState) -> str:
    return f"{event.step} {one_line(state.agents.get(event.step, ''), _WHO)}".rstrip()


def _ended(event: EndedEvent, state: LogState) -> str | None:
    who, took = _who(event, state), duration(event.work_s)
    if event.kind == "skipped" and event.attempt:
        tries = plural(event.attempt, "attempt")
        return _with_reason(f"{who} gave up after {tries}", event.reason)
    if event.kind in ("skipped", "cancelled"):
        return _with_reason(f"{who} {event.kind}", event.reason)
    if event.attempt and event.step not in state.started:
        # An earlier process has emitted the attempt before.
        before = ", ".join(_figures(event, state))
        return f"{who} had finished: {before}" if event.kind == "succeeded" else None
    if not event.attempt:
        verb = "finished" if event.kind == "succeeded" else "failed"
        return _with_reason(f"{who} {verb}", event.reason)
    figures = _figures(event, state)
    match event.kind:
        case "succeeded":
            return f"{who} finished in {took}: {', '.join(figures)}"
        case "retrying":
            number, *rest = figures
            failed = ", ".join([f"{number} failed after {took}", *rest])
            return f"{who} is tried again: {failed}{_why(event.reason)}"
        case _:
            return f"{who} failed after {took}: {', '.join(figures)}{_why(event.reason)}"


def _figures(event: EndedEvent, state: LogState) -> list[str]:
    money = [dollars(event.cost_usd)] if event.cost_usd else []
    gates = _gates(state.gates.get(event.step, {}))
    tokens = [] if event.step in state.calls else [plural(event.tokens, "token")]
    return [f"attempt {event.attempt}", *tokens, *money, *gates]


def _gates(verdicts: dict[str, str]) -> Iterable[str]:
    counts = Counter(verdicts.values())
    if passed := counts["passed"]:
        yield f"{plural(passed, 'gate')} passed"
    if bad := [name for name, status in verdicts.items() if status in ("failed", "error")]:
        yield f"{plural(len(bad), 'gate')} failed ({', '.join(bad)})"


def _decided(event: DecisionEvent, state: LogState) -> str:
    tier = f" on {event.tier}" if event.tier else ""
    rule = f" (rule {event.rule})" if event.rule else ""
    decided = f"{_who(event, state)}, attempt {event.attempt}: decided {event.action}{tier}{rule}"
    return f"{decided}, since {one_line(event.reason, _WHY)}" if event.reason else decided


def _finished(event: FinishedEvent, state: LogState) -> str:
    took = "" if state.began_at is None else f" after {duration(event.at - state.began_at)}"
    if event.status == "waiting":
        return f"Run {event.run} is left{took} until a person answers{_why(event.problem)}"
    money = f", {dollars(event.cost_usd)}" if event.cost_usd is not None else ""
    calls = f": {plural(event.calls, 'call')}, {plural(event.tokens, 'token')}{money}"
    status = f"Run {event.run} is {event.status}{took}{calls if event.calls else ''}"
    return f"{status}{_why(event.missing)}{_why(event.problem)}"


def _with_reason(text: str, reason: str) -> str:
    return f"{text}: {one_line(reason, _WHY)}" if reason else text


def _why(reason: str) -> str:
    return f". {one_line(reason, _WHY)}" if reason else ""


def _capital(text: str, *, start: bool) -> str:
    return text[:1].upper() + text[1:] if start else text
