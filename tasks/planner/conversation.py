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
from ...quoting import PromptPart, Quote, with_quotes
from ...result import excerpt
from ...task_ir import PlanRules
from ..subagent.answer_checks import refuses
from ..usage import usage_of
from .given_inputs import listing
from .protocol import PlanContext, PlanDraft
from .written import read_answer, written_text

__all__ = ["EXCERPT", "checked_objective", "converse", "instructions"]


_TEXT = """\
You are the orchestrator of a team of subagents. Decompose the objective into the fewest
assignments that let independent work run at the same time.

create_subagent: every specialist you need, each with a distinct name and a system prompt that
says what it is good at. `tier` is worker unless it writes code (coder) or needs the deepest
thought (architect).

assign_task: the assignments in order, each to an agent you created. An agent sees its prompt and
the outputs of the assignments in `depends_on`, and nothing else: put everything it has to know
into the prompt, names, numbers and formats included. `depends_on` has the 1-based positions of
earlier assignments whose output is really read; assignments on different things depend on
nothing. Where the results belong together, let a last assignment join them. Don't ask the same
thing twice. A simple objective is one assignment.

output: what an assignment produces, and what of it the objective settles: example calls of code
with their values, a JSON Schema, headings, bounds on words, a form. All of it is checked, and an
output that doesn't keep to it is refused: state nothing that the prompt doesn't say as well."""


_INPUTS = """
The objective comes with inputs, of which you see name, size and first line. inputs: the names of
those that an assignment reads; their texts are put before its prompt. Give each assignment what
it needs and no more. null is all of them for an assignment that depends on nothing, and none for
any other."""


_TOOLSETS = """
tools of a subagent: the toolsets that it works with, by name. Give each the fewest that its
assignments can't do without; who writes, compares or joins what others found needs none.
Toolsets there are: """


def instructions(rules: PlanRules) -> str:
    """Return how to plan, with the limits that the plan has to keep."""
    text = f"{_TEXT}\nNo more than {rules.max_steps} assignments."
    if rules.gates:
        text += f" Gates there are: {', '.join(sorted(rules.gates))}."
    if rules.inputs:
        text += _INPUTS
    return f"{text}{_TOOLSETS}{', '.join(sorted(rules.toolsets))}." if rules.toolsets else text


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
