"""Whether a call of a tool is made, and what is done instead. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.tools import ToolDefinition

from ...approvals.question import Answer, Question
from ..journal.entries import CallKey, JournalState
from ..marks import is_acting, is_idempotent

__all__ = ["AttemptRules", "CallVerdict", "WantedCall", "question_about", "verdict_on"]

CallVerdict = Literal["make", "stored", "over", "ask", "rejected", "uncertain"]
"""`make` it; take what is `stored`; it is `over` the bound of calls; `ask` a person; a person
`rejected` it; it may have been made already and is `uncertain`."""


@dataclass(frozen=True, slots=True)
class AttemptRules:
    """What an attempt's calls keep to.

    Attributes:
        most: Calls that it may make.
        asks: Whether a person is asked about what acts, and about what may have been made already.
    """

    most: int
    asks: bool = False


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call that the model wants.

    Attributes:
        question: Names the question about it within the run. One that was begun has another: that
            it may be made doesn't say that it may be made again.
        arguments: As JSON, for people.
        mended: What was mended to read them, in words.
    """

    key: CallKey
    tool: ToolDefinition
    question: str
    arguments: str = ""
    mended: str = ""


def verdict_on(
    wanted: WantedCall, state: JournalState, rules: AttemptRules, answer: Answer | None
) -> CallVerdict:
    """Say what is done about a call.

    Args:
        state: What the journal said when this process opened it.
        answer: What a person decided about the call's question; None if they didn't.
    """
    if wanted.key in state.committed:
        return "stored"
    if wanted.key.ordinal > rules.most:
        return "over"
    doubtful = state.is_uncertain(wanted.key) and not is_idempotent(wanted.tool)
    if not doubtful and not (rules.asks and is_acting(wanted.tool)):
        return "make"
    if answer is not None:
        return "make" if answer.verdict == "approved" else "rejected"
    if rules.asks:
        return "ask"
    return "uncertain"


def question_about(wanted: WantedCall, state: JournalState, step: str, attempt: int) -> Question:
    """Return what a person is asked about a call; `at` is left to whoever asks."""
    doubtful = state.is_uncertain(wanted.key)
    what = "may have been made already; make it again?" if doubtful else "acts; make it?"
    shown = json.dumps(_decoded(wanted.arguments), indent=2, ensure_ascii=False)
    about = wanted.tool.description or ""
    mended = f"\n\nThe model wrote it otherwise; mended: {wanted.mended}." if wanted.mended else ""
    return Question(
        id=wanted.question,
        asked="uncertain_call" if doubtful else "call",
        step=step,
        attempt=attempt,
        title=f"{step}: the call of {wanted.key.tool} {what}",
        text=f"**{wanted.key.tool}**: {about}\n\n```json\n{shown}\n```{mended}",
    )


def _decoded(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
