"""A turn of the orchestrator's: what it is shown, and what it writes."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from pydantic import BaseModel, Field, ValidationError

from ...errors import PlanError
from ...models.answers.lenient_json import JsonProblem, read_json
from ...plan.output import StepOutput
from ...plan.schedule_events import TurnCause
from ...plan.step import Agent, Step
from ...plan.task_ir import PlanRules, TaskIR
from ...plan.turns import GivenUp, TurnReply, next_number
from ...quoting import PromptPart, Quote, with_quotes
from ...store.attempt import excerpt
from ...store.messages import UserMessage
from ...text import one_line, plural, without_surrogates
from ..subagent.answer import extract
from ..subagent.compaction import GOAL
from ..subagent.request import CallLimits, Exchange, SubagentRequest, tokens_of
from ..subagent.task import subagent
from .conversation import instructions
from .grammar import plan_shape
from .planned import PlannedTask, Subagent
from .written import plan_data, plan_problems

__all__ = [
    "TURN",
    "Remaining",
    "StepLine",
    "direct",
    "first_exchange",
    "fitting",
    "read_turn",
    "turn_request",
    "turns_instructions",
]

direct = subagent.with_options(name="direct")

TURN = "turn"
"""What stands in a step's place in the key of a turn."""


def turns_instructions(rules: PlanRules, *, program: bool) -> str:
    """Return how the orchestrator plans and directs, the same in all of a run's turns."""
    how = instructions(rules, program=program, turns=True)
    return "\n\n".join([how, plan_shape(rules, program=program)])


@dataclass(frozen=True, slots=True)
class StepLine:
    """How far a step is, for the orchestrator: `status` in words, and why it ended so."""

    id: str
    agent: str
    status: str
    reason: str = ""

    def __str__(self) -> str:
        """Return it as a line."""
        why = f": {one_line(self.reason, _REASON_CHARS)}" if self.reason else ""
        return f"{self.id} {one_line(self.agent, _NAME_CHARS)}: {self.status}{why}"


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of what bounds a run; None where nothing bounds it."""

    turns: int
    steps: int
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        """Return it in words."""
        parts = [plural(self.turns, "turn") + " after this one", plural(self.steps, "assignment")]
        if self.tokens is not None:
            parts.append(plural(self.tokens, "token"))
        if self.usd is not None:
            parts.append(f"{self.usd:.2f} US dollars")
        if self.seconds is not None:
            parts.append(f"{self.seconds:.0f} seconds")
        return f"Left: {', '.join(parts)}."


_NAME_CHARS = 80
_REASON_CHARS = 300
_CAUSES: dict[TurnCause, str] = {
    "seen": "What you wanted to see is there.",
    "failed": "An assignment has failed for good.",
    "message": "The user has written to you. They have been given no answer yet.",
    "over": "Nothing is left to do.",
}
_WRITE = "Write the JSON object of this turn."
_END = (
    "Write the final answer to the objective, from what was found and nothing else, as plain text. "
    "Only if something is missing without which it can't be answered, write the JSON object of a "
    "turn that assigns it."
)


def first_exchange(objective: str, known: Sequence[str], plan: TaskIR) -> Exchange:
    """Return the first turn of the conversation: the objective, and the plan as it was written.

    Args:
        objective: What is wanted.
        known: What is known of the inputs and the swarm; "" for nothing.
        plan: The first plan.
    """
    parts: list[PromptPart] = [f"Objective: {objective}"]
    parts += [Quote(text=text) for text in known if text]
    return Exchange(asked="\n\n".join(with_quotes(parts)), answered=_written(plan))


def _written(plan: TaskIR) -> str:
    agents = [agent.model_dump(mode="json", exclude_defaults=True) for agent in plan.agents]
    steps = [_task(step) for step in plan.steps]
    return json.dumps({"create_subagent": agents, "assign_task": steps}, ensure_ascii=False)


def _task(step: Step) -> dict[str, Any]:
    # What a procedure does it knows by its name.
    left_out = {"id", "plan"} if step.procedure else {"id"}
    fields = step.model_dump(mode="json", exclude_defaults=True, by_alias=True, exclude=left_out)
    data: dict[str, Any] = {"number": int(step.id[1:]), **fields}
    if needs := data.get("depends_on"):
        data["depends_on"] = [int(name[1:]) for name in needs]
    return data


_LEFT_OUT = "What you were shown here is left out: the conversation has become too long for it."


def fitting(history: Sequence[Exchange], room: int) -> tuple[tuple[Exchange, ...], int]:
    """Return a conversation that fits, and in how many turns what was shown is left out.

    The objective, the plan and all that the orchestrator wrote stay. What it was shown is left out
    of the oldest turns first, in a big step: until the whole takes `GOAL` of the room. So
    beginnings last, and with them what a provider has cached of them.

    Args:
        history: The turns, from the first one on.
        room: Tokens that there are for them.
    """
    sizes = [tokens_of(each.asked) + tokens_of(each.answered) for each in history]
    kept, size, left_out = [*history], sum(sizes), 0
    goal = room if size <= room else room * GOAL
    for place in range(1, len(kept)):
        if size <= goal:
            break
        kept[place] = Exchange(
            asked=f"Turn {place + 1}. {_LEFT_OUT}", answered=kept[place].answered
        )
        size += tokens_of(kept[place].asked) + tokens_of(kept[place].answered) - sizes[place]
        left_out += 1
    return tuple(kept), left_out


def turn_request(
    cause: TurnCause,
    lines: Sequence[StepLine],
    outputs: tuple[StepOutput, ...],
    remaining: Remaining,
    *,
    number: int,
    next_step: int,
    done_when: Sequence[str] = (),
    refused: str = "",
    edited: TaskIR | None = None,
    messages: Sequence[UserMessage] = (),
    how: str,
    grammar: str,
    key: str,
    run: str,
    model: str,
    limits: CallLimits,
) -> SubagentRequest:
    """Return the request for a turn, without the turns before.

    Args:
        cause: Why there is one.
        lines: How far the steps are.
        outputs: Those that it has not seen.
        remaining: What is left of what bounds the run.
        number: The turn's number; the first plan is number 1.
        next_step: The number of the next assignment.
        refused: Why the turn before was not taken; "" where it was.
        done_when: What the plan calls done.
        edited: The plan so far, where a person has changed it since the last turn.
        messages: What the user has written since the turn before.
        how: The instructions, the same in all turns.
        grammar: What a model file writes under.
        limits: What bounds the call.
    """
    shown = "\n".join(map(str, lines))
    end = _END if cause == "over" else _WRITE
    end = " ".join([*(f"It is done when: {condition}." for condition in done_when), end])
    head = f"Turn {number}. {_CAUSES[cause]}"
    tail = f"{remaining} The next assignment has number {next_step}. {end}"
    changes = [Quote(text=refused, label="Your last turn was not taken:")] if refused else []
    if edited is not None:
        changes.append(
            Quote(text=_written(edited), label="A person has changed the plan. It is now:")
        )
    said = "\n\n".join(f"{change.label} {change.text}" for change in changes)
    label = "How far the assignments are:"
    wishes = tuple(Quote(text=each.text, label=_wish_label(each.number)) for each in messages)
    wished = [f"{each.label}\n{each.text}" for each in wishes]
    return SubagentRequest(
        key=key,
        run=run,
        step=TURN,
        agent="Orchestrator",
        attempt=number,
        tier="orchestrator",
        model=model,
        instructions=how,
        prompt="\n\n".join(filter(None, [head, *wished, said, label, shown, tail])),
        asked=(head, *wishes, *changes, Quote(text=shown, label=label), tail),
        upstream=outputs,
        grammar=grammar,
        # An answer is a text; a turn in which something goes on can't be anything but JSON.
        output="text" if cause == "over" else "json",
        **dict(limits),
    )


def _wish_label(number: int) -> str:
    """Say of a message whose it is: of all that is quoted, it alone is to be followed."""
    return (
        f"Message {number} of the user, whose objective this is. Although it is quoted, it is an "
        "instruction to you: do as it says, as if it stood in the objective."
    )


class _Cancelled(BaseModel):
    step: str | int
    why: str = ""


class _Finish(BaseModel):
    answer: str | None = None
    step: str | int | None = None


class WrittenTurn(BaseModel):
    """A turn as a model writes it."""

    create_subagent: list[Subagent] = Field(default_factory=list[Subagent])
    assign_task: list[PlannedTask] = Field(default_factory=list[PlannedTask])
    cancel_task: list[_Cancelled] = Field(default_factory=list["_Cancelled"])
    look_after: list[str | int] = Field(default_factory=list[str | int])
    finish: _Finish | None = None

    def reply(self, plan: TaskIR, procedures: Collection[str] = ()) -> TurnReply:
        """Return what it decides, for a plan; `procedures` are those that its steps may be.

        Raises:
            PlanError: It breaks a rule.
        """
        first = next_number(plan.steps)
        names = [*(agent.name for agent in plan.agents), *(a.name for a in self.create_subagent)]
        finish = self.finish or _Finish()
        if self.finish and finish.step is None and not (finish.answer or "").strip():
            raise PlanError("The turn finishes without an answer.", "Write it, or name a step.")
        data = [
            task.data(number, names, plan.inputs, procedures)
            for number, task in enumerate(self.assign_task, first)
        ]
        try:
            return TurnReply(
                agents=tuple(Agent(**agent.model_dump()) for agent in self.create_subagent),
                steps=tuple(Step.model_validate(step) for step in data),
                given_up=tuple(
                    GivenUp(step=_id(each.step), why=each.why) for each in self.cancel_task
                ),
                look_after=tuple(dict.fromkeys(map(_id, self.look_after))),
                answer=finish.answer,
                final_step=None if finish.step is None else _id(finish.step),
            )
        except ValidationError as error:
            raise PlanError(
                f"The turn breaks a rule: {plan_problems(error)}.", "Write it as asked."
            ) from None


def _id(name: str | int) -> str:
    text = str(name).strip()
    return text.upper() if text[:1] in "sS" else f"S{text}"


@cache
def _schema() -> dict[str, Any]:
    return WrittenTurn.model_json_schema()


_VERBS = frozenset(WrittenTurn.model_fields)


def read_turn(
    text: str, plan: TaskIR, *, may_answer: bool, procedures: Collection[str] = ()
) -> TurnReply:
    """Read what the orchestrator wrote in a turn.

    Args:
        text: What it wrote.
        plan: The plan so far.
        may_answer: Whether a text that is no turn is the answer.
        procedures: Names of the procedures that its assignments may be.

    Raises:
        PlanError: It is none, or breaks a rule; says which.
    """
    try:
        value: Any = read_json(extract(text.strip(), "json").artifact).value
    except JsonProblem as problem:
        if may_answer and text.strip():
            return TurnReply(answer=text.strip())
        raise PlanError(
            f"That is not a turn: it is not JSON, at {problem}.",
            "Write all of it as one JSON object.",
            text,
        ) from None
    is_turn = isinstance(value, dict) and not _VERBS.isdisjoint(cast("dict[str, Any]", value))
    if not is_turn and may_answer and text.strip():
        return TurnReply(answer=text.strip())
    found = plan_data(without_surrogates(value), _schema(), plan.steps)
    try:
        written = WrittenTurn.model_validate(found.value)
    except ValidationError as error:
        problem = f"That is not a turn: {plan_problems(error)}."
        raise PlanError(problem, "Write it as asked.", excerpt(text, 2000)) from None
    reply = written.reply(plan, procedures)
    if reply == TurnReply() and may_answer:
        raise PlanError(
            "That turn decides nothing.",
            "Assign, cancel, finish, or name what to look after.",
            excerpt(text, 2000),
        )
    return reply
