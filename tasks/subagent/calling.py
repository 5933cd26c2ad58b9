"""The attempt of a step that is a call: made as an agent's calls are, without a model."""

from __future__ import annotations

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings

from ...errors import CallError
from ...plan.call import PlannedCall, expectation_problem
from ...toolsets.names import fitted
from ..context import AttemptBudget, task_context
from .request import SubagentRequest
from .tool_loop import ToolLoop

__all__ = ["call_loop", "made_call"]


def call_loop(request: SubagentRequest, call: PlannedCall) -> ToolLoop:
    """Return the conversation of a call: journaled, asked about and bounded as any other."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if any(isinstance(message, ModelResponse) for message in messages):
            return ModelResponse([TextPart("Called.")])
        names = [tool.name for tool in info.function_tools]
        if (name := fitted(call.tool)) not in names:
            raise CallError(
                f"The toolset {call.toolset} has no tool {call.tool}.",
                f"It has these: {', '.join(names) or 'none'}.",
            )
        return ModelResponse([ToolCallPart(name, call.arguments)])

    return ToolLoop(FunctionModel(answer, model_name="call"), request, ModelSettings())


async def made_call(loop: ToolLoop, call: PlannedCall) -> str:
    """Make a call, and return the whole text that it returned.

    Raises:
        ApprovalNeededError: A person has to be asked first.
        CallError: It failed, or its result isn't what the plan expects.
        SwarmError: It can't be made.
    """
    # No model is asked, so nothing is taken from the run's budget.
    with task_context(budget=AttemptBudget()):
        await loop.run()
    found = loop.result_of_first
    if found is None or found.outcome == "refused":
        # What wasn't made has no result, and the model would read why.
        why = found.result if found is not None else "".join(made.result for made in loop.calls)
        raise CallError(f"{call.tool} of {call.toolset} failed: {why.strip() or 'no reason given'}")
    if loop.request.output == "json" and found.characters > len(found.result):
        raise CallError(
            f"{call.tool} of {call.toolset} returned {found.characters:,} characters, more than "
            f"the {len(found.result):,} that are kept.",
            "Raise the characters of --tool-limit.",
        )
    if problem := expectation_problem(call, found.result):
        raise CallError(problem)
    return found.result
