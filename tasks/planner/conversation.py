"""One request for a plan and, where it breaks a rule, one repair."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from ...blocks.answers.notes import MENDED, note
from ...errors import InputError, NoPlanError, PlanError
from ...quoting.quotes import PromptPart, Quote, with_quotes
from ...result import excerpt
from ..subagent.refusal import refuses
from ..usage import usage_of
from .given_inputs import listing
from .protocol import PlanContext, PlanDraft
from .written import read_answer, written_text

__all__ = ["EXCERPT", "checked_objective", "converse"]

EXCERPT = 2000
"""Characters that are kept of what a model wrote."""
_MENDED_SHOWN = 300
"""Characters that are shown of what was mended to read a plan."""
_BROKE_OFF = (
    "Your plan broke off after that. Write the whole plan again; the agents and assignments that "
    "you have written stay first and the same, word for word."
)


def checked_objective(objective: str) -> str:
    """Return an objective without the blanks around it.

    Raises:
        InputError: It is empty.
    """
    if not (stripped := objective.strip()):
        raise InputError("The objective is empty.", "Say what is wanted.")
    return stripped


async def converse(
    objective: str,
    context: PlanContext,
    ask: Callable[[Sequence[ModelMessage]], Awaitable[ModelResponse]],
) -> PlanDraft:
    """Ask for a plan; what it breaks is said once. A valid plan is taken as it was written.

    Args:
        objective: What is wanted, not empty.
        context: The rules it is held to.
        ask: Sends a conversation to the model.

    Raises:
        NoPlanError: The model refuses, or the second plan can't be read either.
    """
    others = (listing(context.inputs), context.facts, context.notes)
    quotes = [Quote(text=text) for text in others if text]
    asked = [_user_message(objective, *quotes), *_begun(context.begun)]
    answers = [await ask(asked)]
    try:
        return _draft(answers, objective, context, "as the model wrote it")
    except NoPlanError:
        raise
    except PlanError as error:
        problem = error
    repair = _user_message(
        Quote(text=str(problem), label="That plan can't be taken:"),
        "Write the whole plan again, correctly.",
    )
    answered = ModelResponse([TextPart(_shown(answers[0]) or "(nothing)")])
    answers.append(await ask([*asked, answered, repair]))
    try:
        return _draft(answers, objective, context, f"after one repair: {problem.problem}")
    except PlanError as error:
        text = written_text(answers[-1])[:EXCERPT]
        raise NoPlanError(error.problem, "Ask another model, or give a plan.", text) from error


def _begun(text: str) -> list[ModelMessage]:
    """What was written of a plan that broke off, and that it is to be written again."""
    return [ModelResponse([TextPart(text)]), _user_message(_BROKE_OFF)] if text else []


def _shown(answer: ModelResponse) -> str:
    """What a model is shown of its own plan: of one without an end it would write more of that."""
    text = written_text(answer)
    return excerpt(text, EXCERPT) if answer.finish_reason in ("length", "error") else text


def _draft(
    answers: Sequence[ModelResponse], objective: str, context: PlanContext, origin: str
) -> PlanDraft:
    last = answers[-1]
    if why := _refusal(last):
        raise NoPlanError(
            f"The model refuses to plan: {why}", "Ask differently, or ask another model."
        )
    plan, mended = read_answer(last, objective, context.rules)
    if what := "; ".join(filter(None, (note(last, MENDED), *mended))):
        origin = f"{origin}, read with mending: {excerpt(what, _MENDED_SHOWN)}"
    return PlanDraft(
        plan=plan, text=written_text(last)[:EXCERPT], usage=usage_of(answers), origin=origin
    )


def _refusal(answer: ModelResponse) -> str:
    if answer.finish_reason == "content_filter":
        return (answer.provider_details or {}).get("refusal") or "its answer was filtered"
    text = "" if answer.tool_calls else (answer.text or "").strip()
    return text if refuses(text) else ""


def _user_message(*parts: PromptPart) -> ModelRequest:
    return ModelRequest([UserPromptPart("\n\n".join(with_quotes(parts)))])
