"""Which tools a request of pydantic-ai offers to a local model, and whether it has to call one."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings, ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from ....errors import InputError
from ....text import one_line
from ..api import LocalTool

__all__ = ["OfferedTools", "offered_tools"]


@dataclass(frozen=True)
class OfferedTools:
    """The tools that the model reads about.

    Attributes:
        tools: All of them, the same at each turn of a conversation: so its beginning stays what it
            was, and isn't computed again when the choice is another.
        names: Those that it may call.
        forced: Whether the answer has to be a call of one of these.
    """

    tools: tuple[LocalTool, ...] = ()
    names: frozenset[str] = frozenset()
    forced: bool = False


def offered_tools(
    settings: ModelSettings, parameters: ModelRequestParameters, *, has_called: bool = False
) -> OfferedTools:
    """Decide by the setting `tool_choice` what is offered.

    Args:
        settings: The request's.
        parameters: What tools there are.
        has_called: Whether the conversation has calls: if so, what tools there are is told even
            where none may be called.

    Raises:
        InputError: It asks for tools that the request doesn't have.
    """
    choice = settings.get("tool_choice")
    functions, outputs = parameters.declared_function_tools, parameters.output_tools
    every = (*functions, *outputs)
    forced = not parameters.allow_text_output
    if choice == "required":
        outputs, forced = [], True
    elif isinstance(choice, ToolOrOutput):
        functions = [tool for tool in functions if tool.name in choice.function_tools]
    elif choice == "none" or choice == []:
        functions = []
    elif isinstance(choice, list):
        functions = [tool for tool in functions if tool.name in choice]
        outputs = [tool for tool in outputs if tool.name in choice]
        forced = True
    names = frozenset(tool.name for tool in (*functions, *outputs))
    if choice and choice not in ("none", "auto") and forced and not names:
        known = one_line(", ".join(sorted(parameters.declared_tool_defs)), 400) or "none"
        raise InputError(
            f"tool_choice is {choice!r}, but the tools of this request are: {known}.",
            "Name a tool that the agent has, or leave tool_choice out.",
        )
    tools = tuple(map(_local_tool, every)) if names or has_called else ()
    return OfferedTools(tools, names, forced and bool(names))


def _local_tool(tool: ToolDefinition) -> LocalTool:
    return LocalTool(tool.name, tool.description or "", tool.parameters_json_schema)
