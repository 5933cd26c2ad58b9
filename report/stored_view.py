"""A stored run as its pages are made from it; without a Prefect server, and without secrets."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..data_types import Finite, Moment
from ..errors import RunDamagedError
from ..host.secrets import secrets_in
from ..inputs.pictures import without_pictures
from ..metrics.critical_path import critical_path, measure, seconds_of, slacks
from ..plan.items import is_pattern
from ..plan.schedule_events import UNFINISHED, StepStatus
from ..plan.step import needs_of
from ..store.attempt import Usage
from ..store.events import ExpandedEvent, FinishedEvent, PlannedStep, RunEvent
from ..store.protocol import PlanRecord, RunStore
from ..store.result import Cost, Planning, Recall, SwarmResult
from ..store.step import StepState
from ..text import without_surrogates
from ..untrusted.opening import PlainName
from .members import needs_within, step_page_names
from .messages import messages_of
from .page import AttemptView, RunView, StepView, TurnView, masked
from .stored_pictures import PictureRoom, step_pictures

__all__ = [
    "SHOWN_CHARS",
    "ShownPlan",
    "ShownStep",
    "attempt_views",
    "ended_early",
    "output_of",
    "planned_members",
    "planned_of",
    "secrets_of",
    "turn_views",
    "view_of",
    "view_of_result",
    "why_of",
]


_MOST_STEPS = 10_000
_MOST_TURNS = 100
_MOST_KNOWN = 100_000
_Text = Annotated[str, BeforeValidator(str)]


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _ShownOutput(_Shown):
    kind: str = "text"


class _ShownSource(_Shown):
    planning: Planning


class _ShownPlanning(_Shown):
    planned: _ShownSource


class _ShownRecall(_Shown):
    recall: Recall | None


class _ShownAssignment(_Shown):
    id: PlainName


class _ShownGivenUp(_Shown):
    step: PlainName


class _ShownReply(_Shown):
    steps: tuple[_ShownAssignment, ...] = ()
    given_up: tuple[_ShownGivenUp, ...] = ()
    look_after: tuple[PlainName, ...] = ()
    answer: str | None = None
    final_step: str | None = None


class _ShownTurn(_Shown):
    number: Annotated[int, Field(ge=2, le=_MOST_TURNS)]
    cause: str = ""
    reply: _ShownReply = _ShownReply()
    waits: bool = False
    refused: str = ""
    began_at: Moment = 0.0
    usage: Usage = Usage()
    work_s: Finite = 0.0
    messages: tuple[int, ...] = ()


class ShownStep(_Shown):
    """A step as it was compiled; `inputs` is None where it reads what its place gives it.

    Attributes:
        upstream: The steps that it reads.
        waits_for, follows: Those that it waits for besides.
        plan: The steps of the plan inside it.
        parent, label: The step that it is a member of, and its item in a few words.
    """

    id: PlainName
    agent: str = ""
    prompt: str = ""
    upstream: tuple[PlainName, ...] = ()
    output: _ShownOutput = _ShownOutput()
    optional: bool = False
    inputs: tuple[str, ...] | None = None
    waits_for: tuple[PlainName, ...] = ()
    follows: str = ""
    for_each: Any = None
    repeat: Any = None
    plan: Annotated[tuple[ShownStep, ...], Field(max_length=_MOST_STEPS)] = ()
    parent: str = ""
    label: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """The steps that come before it."""
        follows = (self.follows,) if self.follows else ()
        return tuple(dict.fromkeys((*self.upstream, *self.waits_for, *follows)))

    @property
    def found_items(self) -> str:
        """Where its items are found: a step, an input, a pattern; "" for those in the plan."""
        is_read = isinstance(self.for_each, dict)
        items = cast("dict[str, Any]", self.for_each).get("items") if is_read else None
        return items if isinstance(items, str) else ""

    @property
    def has_members(self) -> bool:
        """Whether others do its work."""
        return bool(self.for_each or self.repeat or self.plan)


def _in_order(steps: tuple[ShownStep, ...]) -> tuple[ShownStep, ...]:
    earlier: set[str] = set()
    for step in steps:
        if step.id in earlier or not earlier.issuperset(step.needs):
            raise ValueError(f"{step.id} is there twice, or needs a step that is not before it")
        earlier.add(step.id)
        _in_order(step.plan)
    return steps


class ShownPlan(_Shown):
    """A plan as it was compiled; `edits` is how often a person had edited it.

    Attributes:
        inputs: The texts that the run was given, by their names.
    """

    steps: Annotated[
        tuple[ShownStep, ...], Field(max_length=_MOST_STEPS), AfterValidator(_in_order)
    ] = ()
    inputs: tuple[tuple[str, _Text], ...] = ()
    edits: int = Field(default=0, ge=0, le=1_000_000)


def planned_of(run: RunStore) -> ShownPlan:
    """Return the plan that a run has; one without steps where it has none yet.

    Raises:
        RunDamagedError: Its file is not a plan.
    """
    stored = run.plan() or PlanRecord()
    try:
        return ShownPlan.model_validate({**stored.plan, "edits": stored.edits})
    except ValidationError as error:
        raise run.damage("plan", error) from None


_SHOWN = 8


def why_of(
    upstream: tuple[str, ...],
    statuses: Mapping[str, StepStatus],
    status: StepStatus,
    reason: str,
) -> str:
    """Say what a step waits for, or how it ended; "" if there is nothing to say.

    Args:
        upstream: The steps that it needs.
        statuses: How far the steps are.
        status: How far it is itself.
        reason: Why it failed or was skipped; or who had it done.
    """
    if status == "waiting":
        missing = [name for name in upstream if statuses.get(name) in UNFINISHED]
        more = " …" if len(missing) > _SHOWN else ""
        return f"waits for {', '.join(missing[:_SHOWN])}{more}"
    if status == "asked":
        return f"waits for a person{f'; {reason}' if reason else ''}"
    if status == "ready":
        return f"waits for a free slot{f'; {reason}' if reason else ''}"
    return reason


def ended_early(run: RunStore) -> str:
    """Return the error that ended a run's last process; "" if none did, or none is known of."""
    last = None
    with suppress(RunDamagedError):
        last = run.last_event()
    if isinstance(last, FinishedEvent) and last.status == "unfinished":
        return last.problem
    return ""


_Message = Mapping[str, Any]
_NOTHING: _Message = {}
_NO_TEXTS: list[str] = []


def attempt_views(run: RunStore, step: StepState, output: str | None) -> tuple[AttemptView, ...]:
    """Return what each attempt of a step was sent and answered, as far as it is stored.

    Args:
        run: The run's folder.
        step: The step, with its attempts so far.
        output: What the step made: of several samples, the one that has it is shown.
    """
    return tuple(
        _view(attempt.number, _transcripts(run, f"{step.id}.{attempt.number}"), output or "")
        for attempt in step.attempts
    )


def _view(number: int, transcripts: Iterable[list[_Message]], output: str) -> AttemptView:
    views = [
        AttemptView(
            number=number,
            instructions=_instructions(messages),
            sent=_sent(messages),
            answered=_answered(messages),
        )
        for messages in transcripts
    ]
    made = [view for view in views if output.strip() and output.strip() in view.answered]
    return next(iter([*made, *views]), AttemptView(number=number))


def _transcripts(run: RunStore, name: str) -> Iterator[list[_Message]]:
    """Yield the messages of an attempt, or of each of its samples; what is damaged has none."""
    for text in run.transcripts(name):
        with suppress(ValueError, RecursionError):
            found: object = without_surrogates(json.loads(text))
            if isinstance(found, list):
                messages = cast("list[object]", found)
                yield [cast("_Message", each) for each in messages if isinstance(each, dict)]


def _instructions(messages: Iterable[_Message]) -> str:
    requests = [each for each in messages if each.get("kind") == "request"]
    first = requests[0] if requests else _NOTHING
    own = first.get("instructions")
    system = [*([own] if isinstance(own, str) else []), *_texts(first, "system-prompt")]
    return "\n".join(system)


def _sent(messages: Iterable[_Message]) -> str:
    """What the first request asked: later ones of the same attempt only add results of tools."""
    asked = (_texts(each, "user-prompt") for each in messages if each.get("kind") == "request")
    return "\n".join(next((texts for texts in asked if texts), _NO_TEXTS))


def _answered(messages: Iterable[_Message]) -> str:
    answers = [_texts(each, "text") for each in messages if each.get("kind") == "response"]
    return "".join(answers[-1]) if answers else ""


def _texts(message: _Message, kind: str) -> list[str]:
    found: object = message.get("parts")
    parts = cast("list[object]", found) if isinstance(found, list) else []
    known = (cast("Mapping[str, Any]", part) for part in parts if isinstance(part, dict))
    contents = (part.get("content") for part in known if part.get("part_kind") == kind)
    return [text for content in contents for text in _texts_in(content)]


def _texts_in(content: object) -> list[str]:
    """Return the texts of a part's content, with a picture's name in its place."""
    if isinstance(content, str):
        return [content]
    texts: list[str] = []
    for each in cast("list[object]", content) if isinstance(content, list) else ():
        name = cast("_Message", each).get("identifier") if isinstance(each, dict) else each
        if isinstance(name, str):
            texts.append(f"[{name[:_NAME_CHARS]}]" if isinstance(each, dict) else name)
    return texts


_NAME_CHARS = 80


SHOWN_CHARS = 200_000
"""Characters of an output that a view has; pages show fewer."""


def view_of(
    run: RunStore,
    *,
    is_running: bool = False,
    whole: Collection[str] | None = None,
    room: PictureRoom | None = None,
) -> RunView:
    """Read a run's view; the values of the environment's keys are masked in it.

    Args:
        run: The run's folder.
        is_running: Whether a process works on it; that shows in runs without a result alone.
        whole: Ids of the steps whose texts are read; all that have a page, if it is left out.
        room: What their pictures are drawn in; None for the names alone.

    Raises:
        RunDamagedError: A file of the run can't be read.
    """
    if (result := run.result()) is not None:
        return view_of_result(run, result, whole, room)
    plan = planned_of(run)
    planned = _with_members(run, _planned_steps(plan, None))
    view = _unfinished(run, planned, plan, whole, room, is_running=is_running)
    return masked(view, _secrets_of_run(run))


def view_of_result(
    run: RunStore,
    result: SwarmResult,
    whole: Collection[str] | None = None,
    room: PictureRoom | None = None,
) -> RunView:
    """Return the view of a run that has ended, masked likewise.

    Args:
        run: The run's folder. What it lacks, or if there is none, the view lacks.
        result: How the run ended.
        whole: As for `view_of`.
        room: Likewise.

    Raises:
        RunDamagedError: A file of the run can't be read.
    """
    plan = planned_of(run)
    planned = _with_members(run, _planned_steps(plan, result))
    view = _ended(run, result, planned, plan, whole, room)
    return masked(view, _secrets_of_run(run))


def _secrets_of_run(run: RunStore) -> tuple[str, ...]:
    key_env = (run.about().options or {}).get("key_env")
    return secrets_of(key_env if isinstance(key_env, str) else None)


def secrets_of(key_env: str | None) -> tuple[str, ...]:
    """Return the values in the environment that no page may show.

    Args:
        key_env: The variable that a run's key was taken from, if it was named.
    """
    own = os.environ.get(key_env, "") if key_env else ""
    return (*secrets_in(os.environ), *([own] if own else []))


def output_of(run: RunStore, step: str) -> tuple[str | None, int]:
    """Return what a step made, cut if it is long, and the characters of the whole."""
    text = run.output(step)
    return (None, 0) if text is None else (text[:SHOWN_CHARS], len(text))


def planned_members(run: RunStore) -> dict[str, ShownStep]:
    """Return all steps that a run's plan came to so far, members behind their step.

    Raises:
        RunDamagedError: The plan can't be read.
    """
    return _with_members(run, _planned_steps(planned_of(run), None))


def _with_members(run: RunStore, planned: dict[str, ShownStep]) -> dict[str, ShownStep]:
    """Add the members that steps got while the run went on, as its events have them."""
    if not any(step.has_members for step in planned.values()):
        return planned
    events: list[RunEvent] = []
    with suppress(RunDamagedError):
        events.extend(run.events({"expanded"}))
    members: dict[str, dict[str, PlannedStep]] = {}
    for event in events:
        if isinstance(event, ExpandedEvent):
            found = members.setdefault(event.step, {})
            found.update((step.id, step) for step in event.steps)
    complete: dict[str, ShownStep] = {}
    waiting = [(name, step) for name, step in reversed(planned.items())]
    while waiting:
        name, step = waiting.pop()
        if name in complete or len(complete) > _MOST_KNOWN:
            continue
        complete[name] = step
        behind = [(each.id, _member(step, each)) for each in members.get(name, {}).values()]
        waiting.extend(reversed(behind))
    return complete


def _unplanned(
    started: Iterable[StepState], planned: Mapping[str, ShownStep]
) -> dict[str, ShownStep]:
    """Return members that started and that no event has: those of a log may be cut off."""
    return {
        step.id: ShownStep(id=step.id, agent=step.agent, parent=step.parent, label=step.label)
        for step in started
        if step.parent and step.id not in planned
    }


def _member(step: ShownStep, member: PlannedStep) -> ShownStep:
    """Return a member as it was planned: like its step, or like the inner step that it is."""
    local = member.id.removeprefix(f"{step.id}.")
    like = next((inner for inner in step.plan if inner.id == local), step)
    return like.model_copy(
        update={
            "id": member.id,
            "agent": member.agent,
            "upstream": member.upstream,
            "waits_for": (),
            "follows": "",
            "parent": step.id,
            "label": member.label,
            "optional": member.optional,
            "inputs": _inputs_of(step, like, member.label),
        }
    )


def _inputs_of(step: ShownStep, like: ShownStep, label: str) -> tuple[str, ...] | None:
    """Return the inputs that a member reads: one that is its item comes first."""
    if like is not step:
        return step.inputs if like.inputs is None and not like.upstream else like.inputs
    if not step.found_items or (step.inputs is not None and label in step.inputs):
        return step.inputs
    return (*([label] if is_pattern(step.found_items) else []), *(step.inputs or ()))


def _ended(
    run: RunStore,
    result: SwarmResult,
    planned: Mapping[str, ShownStep],
    plan: ShownPlan,
    whole: Collection[str] | None,
    room: PictureRoom | None,
) -> RunView:
    statuses: dict[str, StepStatus] = {step.id: _status(step) for step in result.steps}
    whole = step_page_names(result.steps) if whole is None else whole
    turns = turn_views(run)
    return RunView(
        run_id=result.run_id,
        flow_run_id=result.flow_run_id,
        objective=result.plan.objective,
        status=result.status,
        answer=result.answer,
        problem=result.problem,
        undone=result.undone,
        steps=tuple(
            _step(run, step, planned, statuses, plan, room, is_whole=step.id in whole)
            for step in result.steps
        ),
        planning=result.planning,
        metrics=result.metrics,
        cost=result.cost,
        recall=result.recall,
        taught=result.taught,
        time=result.time,
        parl=result.parl,
        messages=messages_of(run, turns),
        turns=turns,
        began_at=_began_at(run),
        ended_at=_ended_at(run),
    )


def _unfinished(
    run: RunStore,
    planned: Mapping[str, ShownStep],
    plan: ShownPlan,
    whole: Collection[str] | None,
    room: PictureRoom | None,
    *,
    is_running: bool,
) -> RunView:
    started = {step.id: step for step in run.steps()}
    planned = {**planned, **_unplanned(started.values(), planned)}
    known = [started.get(name) or _unbegun(planned[name]) for name in planned]
    whole = step_page_names(known) if whole is None else whole
    statuses = _statuses(known, planned, is_running)
    parents = {step.id: step.parent for step in known}
    needs = needs_within({name: step.needs for name, step in planned.items()}, parents)
    ran = seconds_of(known)
    # One with members stands for the end of these, and takes no time of its own.
    seconds = {name: ran.get(name, 0.0) for name in needs} if ran else {}
    slack, path = slacks(seconds, needs), critical_path(seconds, needs)
    steps = [
        step.model_copy(update={"slack_s": slack.get(step.id), "critical": step.id in path})
        if step.id in ran
        else step
        for step in known
    ]
    about, turns = run.about(), turn_views(run)
    return RunView(
        run_id=run.run_id,
        flow_run_id=about.flow_run_id,
        objective=about.objective,
        status="running" if is_running else "unfinished",
        answer="",
        problem="" if is_running else _goes_on(run),
        steps=tuple(
            _step(run, step, planned, statuses, plan, room, is_whole=step.id in whole)
            for step in steps
        ),
        planning=_planning(run),
        metrics=measure(known, needs, 0) if ran else None,
        cost=Cost.of(run.accounts().usage),
        recall=_recall(run, plan),
        messages=messages_of(run, turns),
        turns=turns,
        began_at=_began_at(run),
        ended_at=None if is_running else _ended_at(run),
    )


def _goes_on(run: RunStore) -> str:
    if why := ended_early(run):
        return f"It ended early: {why} Resume with: prefect-swarm resume {run.run_id}"
    return "The run has not ended. If nothing runs it any more: prefect-swarm resume " + run.run_id


def _planned_steps(plan: ShownPlan, result: SwarmResult | None) -> dict[str, ShownStep]:
    """The steps as they were compiled; or, where that is gone, as the result's plan has them."""
    if plan.steps or result is None:
        return {step.id: step for step in plan.steps}
    return {
        step.id: ShownStep.model_validate(
            {
                "id": step.id,
                "agent": step.agent,
                "prompt": step.prompt,
                "upstream": step.depends_on,
                "waits_for": needs_of(step),
                "for_each": step.for_each and step.for_each.model_dump(),
                "repeat": step.repeat,
                "output": {"kind": step.output.kind},
                "optional": step.optional,
                "inputs": step.inputs,
            }
        )
        for step in result.plan.steps
    }


def _unbegun(planned: ShownStep) -> StepState:
    return StepState(
        id=planned.id,
        agent=planned.agent,
        prompt=planned.prompt,
        status="unfinished",
        parent=planned.parent,
        label=planned.label,
    )


def _step(
    run: RunStore,
    step: StepState,
    planned: Mapping[str, ShownStep],
    statuses: Mapping[str, StepStatus],
    plan: ShownPlan,
    room: PictureRoom | None,
    *,
    is_whole: bool,
) -> StepView:
    own = planned.get(step.id) or ShownStep(id=step.id)
    upstream = own.needs
    output, chars = output_of(run, step.id) if is_whole else (None, 0)
    status = statuses[step.id]
    reason = step.taken_from.words if step.taken_from else step.reason
    return StepView(
        state=step if step.prompt else step.model_copy(update={"prompt": own.prompt}),
        upstream=upstream,
        status=status,
        why=why_of(tuple(name for name in upstream if name in statuses), statuses, status, reason),
        kind=own.output.kind,
        optional=own.optional,
        reads=_reads(run, own, plan) if is_whole else (),
        attempts=attempt_views(run, step, output) if is_whole else (),
        output=output,
        output_chars=chars,
        files=tuple(run.artifacts(step)) if is_whole else (),
        pictures=step_pictures(run, step, room) if is_whole else (),
    )


def _reads(run: RunStore, planned: ShownStep, plan: ShownPlan) -> tuple[tuple[str, int], ...]:
    upstream = planned.upstream
    sizes = {name: len(without_pictures(text)) for name, text in plan.inputs}
    names = planned.inputs
    if names is None:
        names = () if upstream or planned.found_items else tuple(sizes)
    inputs = [(name, sizes.get(name, 0)) for name in names]
    made = ((name, output_of(run, name)) for name in upstream)
    return (*inputs, *((name, chars) for name, (text, chars) in made if text is not None))


def _status(step: StepState) -> StepStatus:
    return "waiting" if step.status == "unfinished" else step.status


def _statuses(
    steps: Sequence[StepState], planned: Mapping[str, ShownStep], is_running: bool
) -> dict[str, StepStatus]:
    """How far each step is, as far as files show: what runs just now may only be ready."""
    statuses: dict[str, StepStatus] = {step.id: _status(step) for step in steps}
    parents = {step.parent for step in steps}
    for step in steps:
        above = (statuses.get(name, "succeeded") for name in planned[step.id].needs)
        if step.status == "unfinished" and not any(each in UNFINISHED for each in above):
            has_started = bool(step.attempts) or step.id in parents
            statuses[step.id] = "running" if is_running and has_started else "ready"
    return statuses


def turn_views(run: RunStore) -> tuple[TurnView, ...]:
    """Return the orchestrator's turns after the first; a damaged one is left out."""
    found: tuple[_ShownTurn, ...] = ()
    with suppress(RunDamagedError):
        found = run.records("turn", _ShownTurn, lambda turn: str(turn.number))
    return tuple(_turn(each) for each in sorted(found, key=lambda turn: turn.number))


def _turn(turn: _ShownTurn) -> TurnView:
    reply = turn.reply
    return TurnView(
        number=turn.number,
        began_at=turn.began_at,
        cause=turn.cause,
        steps=tuple(step.id for step in reply.steps),
        given_up=tuple(each.step for each in reply.given_up),
        look_after=reply.look_after,
        finished=reply.answer is not None or reply.final_step is not None,
        waits=turn.waits,
        refused=turn.refused,
        work_s=turn.work_s,
        tokens=turn.usage.tokens,
        messages=turn.messages,
    )


def _planning(run: RunStore) -> Planning | None:
    with suppress(RunDamagedError):
        read = run.record("planning", _ShownPlanning)
        return read.planned.planning if read else None
    return None


def _recall(run: RunStore, plan: ShownPlan) -> Recall | None:
    with suppress(RunDamagedError):
        stored = run.record("recall", _ShownRecall, str(plan.edits) if plan.edits else "")
        return stored.recall if stored else None
    return None


def _began_at(run: RunStore) -> float:
    return run.about().started_at or 0.0


def _ended_at(run: RunStore) -> float | None:
    """When the last process left the run; None if that isn't known."""
    with suppress(RunDamagedError):
        ends = [event.at for event in run.events({"finished"})]
        return ends[-1] if ends else None
    return None
