"""Approvals in a run: questions are stored, and answers are awaited."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from prefect.exceptions import Pause, PausedRun

from ..errors import RunDamagedError
from ..metrics.clock import run_time
from ..models.names import price_of_name
from ..plan.compile import CompiledPlan, CompiledStep
from ..plan.digests import step_digests, text_digest, work_digest
from ..plan.irreversible import IrreversibleStep, irreversible_words
from ..plan.items import full_text
from ..plan.program_words import program_words
from ..plan.review import Reviewer
from ..plan.schedule_events import Approved, Ask, Edited, Rejected
from ..store.approvals import Approvals
from ..store.attempt import excerpt
from ..store.events import AnsweredEvent, AskedEvent
from ..store.question import (
    MOST_STORED,
    PLAN_QUESTION,
    Answer,
    Question,
    RunWaitingError,
    is_approval,
)
from ..store.runs import open_run
from ..store.step import StepState
from ..text import dollars, fenced, one_line, plain_words, plural
from .context import RunContext
from .estimate import Estimate, estimate, is_varied

__all__ = [
    "LOOK_S",
    "Asking",
    "failure_question",
    "plain_question",
    "plan_question",
    "step_question",
    "turn_question",
    "waiting_error",
]


def waiting_error(error: Pause | PausedRun) -> RunWaitingError:
    """Return what a flow run that came back paused means, with the questions of its run."""
    state = error.state
    flow_run_id = state.state_details.flow_run_id if state is not None else None
    run = open_run(str(flow_run_id or ""))
    suspended = state is not None and state.state_details.pause_reschedule
    return RunWaitingError(run.run_id, Approvals(run).pending(), suspended=suspended)


_COLUMNS = 78  # of a block of code, in the narrower of Prefect's UIs
_SHORT = 300
_FAR = re.compile(r"[^\S\n]{33,}")
_MOST_EMPTY = 4


def plan_question(
    plan: CompiledPlan,
    estimated: tuple[Estimate, Estimate],
    at: float,
    irreversible: Sequence[IrreversibleStep] = (),
) -> Question:
    """Ask about a plan before anything of it starts.

    Args:
        plan: The plan.
        estimated: What it takes at the least and at the most.
        at: When it is asked.
        irreversible: Its steps that act, and that nothing undoes.
    """
    acts = f"; nothing undoes {plural(len(irreversible), 'step')} of it" if irreversible else ""
    return Question(
        id=PLAN_QUESTION,
        asked="plan",
        subject=plan.content_hash,
        title=f"The plan of {plural(len(plan.steps), 'step')}{acts}: "
        f"{one_line(plan.objective, 100)}",
        text="\n\n".join(_plan_parts(plan, estimated, irreversible)),
        at=at,
    )


def _plan_parts(
    plan: CompiledPlan,
    estimated: tuple[Estimate, Estimate],
    irreversible: Sequence[IrreversibleStep],
) -> Iterator[str]:
    """Write the steps with all that their models read: nothing is cut."""
    objective = _quoted(plan.objective).lstrip()
    yield objective if "`" in objective else f"**{objective}**"
    least, most = estimated
    amounts = f"{_amount(least)}, up to {_amount(most)}" if is_varied(plan) else _amount(least)
    yield f"{plural(len(plan.steps), 'step')}, about {amounts}."
    yield from _irreversible(irreversible)
    # Short ones stand in a list without gaps.
    parts = [line for step in plan.steps for line in _plan_lines(step)]
    for is_short, lines in groupby(parts, key=lambda part: "\n" not in part):
        yield ("\n" if is_short else "\n\n").join(lines)
    yield from _instructions(plan.steps)


def _irreversible(found: Sequence[IrreversibleStep]) -> Iterator[str]:
    """Write which steps nothing undoes, all of them."""
    if found:
        yield plain_words(irreversible_words(found, most=None))


def _amount(estimated: Estimate) -> str:
    money = "" if estimated.usd is None else f", {dollars(estimated.usd)}"
    return f"{estimated.tokens:,} tokens{money}"


def _plan_lines(step: CompiledStep, within: str = "") -> Iterator[str]:
    """Write a step, how often it is done, and the steps of the plan inside it."""
    tier = "" if step.call else f" ({step.tier})"
    by = f" {plain_words(step.agent)}{tier}" if step.agent else ""
    who = f"- **{within}{step.id}**{by}{_after(step)}{_tools(step)}"
    lesson = f"\n\n{_lesson(step)}" if step.lesson else ""
    # Who reviews it is said at its end, with what they are asked.
    unreviewed = replace(step, review=None, best_of=None)
    said = [_quoted(words).lstrip() for words in program_words(unreviewed, MOST_STORED)]
    # What a call is asked is the call, which its words have.
    asked = [_quoted(step.prompt)] if step.prompt and not step.call else []
    yield f"{who}: {', '.join([*said, *asked])}{lesson}{_reviews(step)}"
    for inner in step.plan:
        yield from _plan_lines(inner, f"{within}{step.id}.")


def _instructions(steps: Iterable[CompiledStep]) -> Iterator[str]:
    """Write the instructions of who works on steps, each once."""
    for agent, instructions in dict.fromkeys(_agents(steps)):
        if instructions:
            yield f"The instructions of {plain_words(agent)}: {_quoted(instructions)}"


def _agents(steps: Iterable[CompiledStep]) -> Iterator[tuple[str, str]]:
    """Yield who works on steps, and on those of the plans inside them, with their instructions."""
    for step in steps:
        yield step.agent, step.instructions
        for reviewer in _reviewers(step):
            yield reviewer.agent, reviewer.instructions
        yield from _agents(step.plan)


def turn_question(
    number: int,
    steps: Sequence[CompiledStep],
    given_up: Sequence[str],
    subject: str,
    at: float,
    irreversible: Sequence[IrreversibleStep] = (),
) -> Question:
    """Ask about what a turn of the orchestrator's does to the plan, before anything of it starts.

    Args:
        number: The turn's number.
        steps: What it adds.
        given_up: Ids of the steps that it ends.
        subject: The hash of what it decides.
        at: When it is asked.
        irreversible: The steps among them that act, and that nothing undoes.
    """
    ends = f", ends {', '.join(given_up)}" if given_up else ""
    parts = [*_irreversible(irreversible)]
    parts += [line for step in steps for line in _plan_lines(step)]
    parts += _instructions(steps)
    if given_up:
        parts.append(f"It ends {', '.join(given_up)}.")
    return Question(
        id=f"turn.{number}",
        asked="turn",
        subject=subject,
        title=f"Turn {number} of the orchestrator: {plural(len(steps), 'step')} more{ends}",
        text="\n\n".join(parts),
        at=at,
    )


def step_question(step: CompiledStep, digest: str, at: float) -> Question:
    """Ask about a step before it begins; `digest` is the hash of it and of what it reads."""
    return Question(
        id=step.id,
        asked="step",
        subject=digest,
        step=step.id,
        attempt=1,
        title=f"{_name(step)}, before it begins",
        text=_step_text(step),
        at=at,
    )


def failure_question(record: StepState, digest: str, again: int, at: float) -> Question:
    """Ask about a step whose last attempt failed.

    Args:
        again: How often the step was begun again.
    """
    step, last = record.step, record.attempts[-1]
    name = f"{step.id}-{again}" if again else step.id
    what = f"{last.category}: {last.error or ''}"
    best = f"\n\nWhat there is of it: {_quoted(excerpt(record.best))}" if record.best else ""
    return Question(
        id=f"{name}.failed.{last.number}",
        asked="failure",
        subject=digest,
        step=step.id,
        attempt=last.number,
        title=f"{_name(step)} failed: {one_line(what, 100)}",
        text=(
            f"{_step_text(step)}\n\n"
            f"Attempt {last.number} failed: {_quoted(excerpt(what, 2000))}{best}"
        ),
        at=at,
    )


def plain_question(name: str, record: StepState, attempt: int, at: float) -> Question:
    """Ask about an attempt of which no more is known than that it waits for a person."""
    step = record.step
    return Question(
        id=name,
        asked="call",
        step=step.id,
        attempt=attempt,
        title=f"{_name(step)}, in the middle of attempt {attempt}",
        text=_step_text(step),
        at=at,
    )


def _after(step: CompiledStep) -> str:
    return f", after {', '.join(step.needs)}" if step.needs else ""


def _tools(step: CompiledStep) -> str:
    return f", with {', '.join(map(plain_words, step.tools))}" if step.tools else ""


def _name(step: CompiledStep) -> str:
    item = f" ({one_line(step.label, 60)})" if step.label else ""
    return " ".join(filter(None, [f"{step.id}{item}", one_line(step.agent, 40)]))


def _item(step: CompiledStep) -> str:
    """Show the item that a member is done for, whole; of a document the name."""
    if step.about is None:
        return ""
    text = step.about.source or full_text(step.about)
    return f"\n\nIts item: {_quoted(text)}"


def _inside(step: CompiledStep) -> str:
    """Show the steps of the plan inside a step, and the instructions of who does them."""
    parts = [line for inner in step.plan for line in _plan_lines(inner, f"{step.id}.")]
    return "".join(f"\n\n{part}" for part in (*parts, *_instructions(step.plan)))


def _step_text(step: CompiledStep) -> str:
    reads = f" It reads {', '.join(step.upstream)}." if step.upstream else ""
    tools = f" Its tools: {', '.join(map(plain_words, step.tools))}." if step.tools else ""
    says = f"\n\nIts instructions: {_quoted(step.instructions)}" if step.instructions else ""
    lesson = f"\n\n{_lesson(step)}" if step.lesson else ""
    by = f", by {plain_words(step.agent)} on tier {step.tier}" if step.agent else ""
    who = f"{step.id}{by}.{reads}{tools}{_item(step)}"
    theirs = "".join(
        f"\n\nThe instructions of {plain_words(each.agent)}: {_quoted(each.instructions)}"
        for each in _reviewers(step)
        if each.instructions
    )
    asked = f"{_quoted(step.prompt).lstrip()}\n\n" if step.prompt else ""
    return f"{asked}{who}{says}{lesson}{_reviews(step)}{theirs}{_inside(step)}"


def _reviewers(step: CompiledStep) -> tuple[Reviewer, ...]:
    """Return who reviews a step and who judges its samples, each once."""
    found = (step.review and step.review.reviewer, step.best_of and step.best_of.judge)
    return tuple(dict.fromkeys(filter(None, found)))


def _reviews(step: CompiledStep) -> str:
    """Say who reviews a step, what they are to look for, and who judges its samples."""
    text = ""
    if best_of := step.best_of:
        chosen = "the first that passes counts"
        if judge := best_of.judge:
            chosen = f"{plain_words(judge.agent)} ({judge.tier}) names the best"
        text += f"\n\n{step.id} draws {best_of.samples} samples; {chosen}."
    if review := step.review:
        reviewer = review.reviewer
        who = f"{plain_words(reviewer.agent)} ({reviewer.tier})"
        text += f"\n\n{who} reviews {step.id}: {review.needed} of {review.votes} have to accept."
        if review.instructions:
            text += f" What they are to look for: {_quoted(review.instructions)}"
    return text


def _lesson(step: CompiledStep) -> str:
    return f"What the memory adds for {step.id}: {_quoted(step.lesson)}"


def _quoted(text: str) -> str:
    """Write what somebody wrote, whole: in the line if it is short, or else in lines of its own."""
    if len(text) <= _SHORT and " ".join(text.split()) == text:
        return plain_words(text)
    return f"\n\n{fenced(_close(text), columns=_COLUMNS)}"


def _close(text: str) -> str:
    """Count spaces and empty lines where there are so many that the rest is out of sight."""
    near = _FAR.sub(lambda row: f"[{len(row[0]):,} spaces]", text)
    parts: list[str] = []
    for is_empty, lines in groupby(near.split("\n"), key=lambda line: not line.strip()):
        found = list(lines)
        is_long = is_empty and len(found) > _MOST_EMPTY
        parts += ["", f"[{len(found):,} empty lines]", ""] if is_long else found
    return "\n".join(parts)


LOOK_S = 0.5
"""Seconds between two looks for answers."""

_logger = logging.getLogger("prefect_swarm.runs")


def _member_subject(record: StepState) -> str:
    """Return a hash of what a member is asked for, of its item, and of all that it reads."""
    return text_digest(record.asked, work_digest(record.step))


async def _pause() -> None:
    await asyncio.sleep(LOOK_S)


@dataclass(slots=True)
class Asking:
    """What one run of one plan has asked and not been answered yet.

    Attributes:
        edits: How many edited plans had come when this one began.
        pause: Passes the time until answers are looked for again.
        rejection: Why the plan was rejected; "" if it wasn't.
        has_asked: Is set when something is asked that isn't about the plan or a step of it.
    """

    context: RunContext
    approvals: Approvals
    edits: int = 0
    pause: Callable[[], Awaitable[None]] = _pause
    clock: Callable[[], float] = run_time
    rejection: str = field(init=False, default="")
    has_asked: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _digests: Mapping[str, str] = field(init=False)
    _open: dict[str, tuple[str, ...]] = field(
        init=False, default_factory=dict[str, tuple[str, ...]]
    )
    _started: set[str] = field(init=False, default_factory=set[str])
    _damaged: set[str] = field(init=False, default_factory=set[str])
    _decisions: dict[str, asyncio.Future[Answer]] = field(
        init=False, default_factory=dict[str, "asyncio.Future[Answer]"]
    )

    def __post_init__(self) -> None:
        self._digests = step_digests(self.context.plan)

    @property
    def is_open(self) -> bool:
        """Whether anything is asked."""
        return bool(self._open)

    @property
    def has_decisions(self) -> bool:
        """Whether something is asked that isn't about the plan or a step of it."""
        return bool(self._decisions)

    async def decide(self, question: Question) -> Answer:
        """Ask about something that the schedule doesn't know, and return the answer.

        Raises:
            StorageError: It can't be written down, so that nobody can answer.
        """
        asked = self.approvals.ask(question)
        self.has_asked.set()
        self._decisions[asked.id] = decision = asyncio.get_running_loop().create_future()
        self._open[asked.id] = (asked.id,)
        if self._answer_to(asked.id) is None:
            self.context.emit(AskedEvent(question=asked.id, title=asked.title))
        try:
            return await decision
        finally:
            self._decisions.pop(asked.id, None)
            self._open.pop(asked.id, None)

    @property
    def pending(self) -> tuple[Question, ...]:
        """What is asked and not answered, in the order of the store."""
        names = {name for asked in self._open.values() for name in asked}
        return tuple(question for question in self.approvals.pending() if question.id in names)

    def ask(self, command: Ask, begun: Sequence[str] = ()) -> None:
        """Write down what is asked about a step or the plan, and tell of what isn't answered.

        Args:
            begun: Ids of what an attempt that waits in its middle has asked.

        Raises:
            StorageError: It can't be written down, so that nobody can answer.
        """
        asked = self._questions(command, begun)
        self._open[command.step] = tuple(question.id for question in asked)
        if command.begun:
            self._started.add(command.step)
        else:
            self._started.discard(command.step)
        for question in asked:
            if self._answer_to(question.id) is None:
                event = AskedEvent(
                    step=command.step,
                    attempt=command.attempt,
                    question=question.id,
                    title=question.title,
                )
                self.context.emit(event)

    def close(self) -> None:
        """Ask nothing more: what there is to decide doesn't matter any more."""
        self._open.clear()

    def answers(self) -> list[Approved | Rejected | Edited]:
        """Look for answers, and return what they come to; each is returned once."""
        edits = self.approvals.edits()
        if len(edits) > self.edits:
            self.edits = len(edits)
            self._open.clear()
            self._emit("", edits[-1])
            return [Edited()]
        found: list[Approved | Rejected | Edited] = []
        for step, names in list(self._open.items()):
            answers = [answer for name in names if (answer := self._answer_to(name)) is not None]
            refused = next((answer for answer in answers if not is_approval(answer)), None)
            if step in self._started:
                # The attempt goes on: its tools make what is approved, and tell the model of what
                # isn't, in this process as in one that resumes the run.
                refused = None
            if refused is None and len(answers) < len(names):
                continue
            del self._open[step]
            decision = self._decisions.pop(step, None)
            for answer in answers:
                self._emit("" if decision else step, answer)
            if decision is not None:
                decision.set_result(answers[0])
                continue
            if refused is None:
                self._approve(step, answers)
                found.append(Approved(step))
            else:
                self._reject(step, refused)
                found.append(Rejected(step))
        return found

    def _questions(self, command: Ask, begun: Sequence[str]) -> tuple[Question, ...]:
        at = self.clock()
        if not command.step:
            context = self.context
            found = estimate(context.plan, context.sizes, context.options, price_of_name)
            asked = plan_question(context.plan, found, at, context.irreversible)
            return (self.approvals.ask(asked),)
        record = self.context.records[command.step]
        if command.begun:
            names = begun or self._asked_in(command) or (f"{command.step}.{command.attempt}.waits",)
            return tuple(
                self.approvals.question(name)
                or self.approvals.ask(plain_question(name, record, command.attempt, at))
                for name in names
            )
        digest = self._digests.get(command.step) or _member_subject(record)
        if not record.attempts:
            return (self.approvals.ask(step_question(record.step, digest, at)),)
        again = self.context.restart_counts.get(command.step, 0)
        return (self.approvals.ask(failure_question(record, digest, again, at)),)

    def _asked_in(self, command: Ask) -> tuple[str, ...]:
        """Return the ids of what an attempt has written down, where it doesn't name them itself."""
        asked = (
            question.id
            for question in self.approvals.questions()
            if (question.step, question.attempt) == (command.step, command.attempt)
            and question.asked in ("call", "uncertain_call", "elicitation")
        )
        answers = ((name, self.approvals.readable_answer(name)) for name in asked)
        return tuple(name for name, answer in answers if answer is None or not answer.is_withdrawal)

    def _approve(self, step: str, answers: Sequence[Answer]) -> None:
        if step and (words := " ".join(answer.why for answer in answers if answer.why)):
            self.context.records[step].advise(words)

    def _reject(self, step: str, answer: Answer) -> None:
        if not step:
            self.rejection = f"The plan was rejected{f': {answer.why}' if answer.why else ''}."
            return
        record = self.context.records[step]
        if record.attempts and record.reason:
            record.add_reason(answer.words)
        else:
            record.end(answer.words)

    def _emit(self, step: str, answer: Answer) -> None:
        event = AnsweredEvent(
            step=step,
            question=answer.question,
            verdict=answer.verdict,
            why=answer.why,
            by=answer.by,
            name=answer.name,
            answered_at=answer.at,
        )
        self.context.emit(event)

    def _answer_to(self, name: str) -> Answer | None:
        try:
            answer, question = self.approvals.answer_to(name), self.approvals.question(name)
        except RunDamagedError as error:
            self._note_once(name, f"{error} Until then nobody has answered.")
            return None
        if answer is not None and question is not None and answer.subject != question.subject:
            self._note_once(
                name,
                f"The answer to {name} is about something else than was asked, and counts for "
                f"nothing. Remove {self.approvals.run.place('answer', name)} to answer it.",
            )
            return None
        return answer

    def _note_once(self, name: str, problem: str) -> None:
        if name not in self._damaged:
            self._damaged.add(name)
            _logger.warning("%s", problem)
