"""Which tools a request of pydantic-ai offers to a local model, and whether it has to call one."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings, ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from ....errors import InputError
from ..api import LocalTool

__all__ = ["OfferedTools", "offered_tools"]


@dataclass(frozen=True)
class OfferedTools:
    """The tools that the model reads about.

    Attributes:
        tools: All of them.
        forced: Whether the answer has to be a call of one of them.
    """

    tools: tuple[LocalTool, ...] = ()
    forced: bool = False


def offered_tools(settings: ModelSettings, parameters: ModelRequestParameters) -> OfferedTools:
    """Decide by the setting `tool_choice` what is offered.

    Raises:
        InputError: It asks for tools that the request doesn't have.
    """
    choice = settings.get("tool_choice")
    functions, outputs = parameters.declared_function_tools, parameters.output_tools
    forced = not parameters.allow_text_output
    if choice == "required":
        functions, outputs, forced = functions, [], True
    elif isinstance(choice, ToolOrOutput):
        functions = [tool for tool in functions if tool.name in choice.function_tools]
    elif choice == "none" or choice == []:
        functions = []
    elif isinstance(choice, list):
        functions = [tool for tool in functions if tool.name in choice]
        outputs = [tool for tool in outputs if tool.name in choice]
        forced = True
    tools = tuple(_local_tool(tool) for tool in (*functions, *outputs))
    if choice and choice not in ("none", "auto") and forced and not tools:
        names = ", ".join(sorted(parameters.declared_tool_defs)) or "none"
        raise InputError(
            f"tool_choice is {choice!r}, but the tools of this request are: {names}.",
            "Name a tool that the agent has, or leave tool_choice out.",
        )
    return OfferedTools(tools, forced and bool(tools))


def _local_tool(tool: ToolDefinition) -> LocalTool:
    return LocalTool(tool.name, tool.description or "", tool.parameters_json_schema)
