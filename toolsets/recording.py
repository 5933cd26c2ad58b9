"""Toolsets whose acting calls are written down and not made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from jsonschema import Draft202012Validator
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator, core_schema

from ..plan.dry_run import DryPlan, plain_id
from ..text import one_line
from .catalogue import Toolset, ToolsetSource, ToolsetUse, is_acting, marked

__all__ = ["RecordedCall", "Recorder", "RecordingSource"]

_ANY_ARGUMENTS = SchemaValidator(core_schema.dict_schema())
_SHOWN = 2_000
_NOTED = "It was written down and not done: this is a dry run. Go on as if it had been done."


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that was not made.

    Attributes:
        step: The id of its step.
        tool: `TOOLSET.TOOL`.
    """

    step: str
    tool: str
    arguments: Mapping[str, Any]

    @property
    def words(self) -> str:
        """What was called with what, in one line."""
        return one_line(f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False)}", _SHOWN)


@dataclass(frozen=True, slots=True)
class Recorder:
    """What the toolsets of a dry run share: what calls return, and what was called."""

    dry: DryPlan
    calls: list[RecordedCall] = field(default_factory=list[RecordedCall])

    def is_mark(self, value: object) -> bool:
        """Say whether a value stands for one that only a call which isn't made would return."""
        return isinstance(value, str) and value in self.dry.marks

    def names_mark(self, value: object) -> bool:
        """Say whether there is such a value in a value of JSON."""
        if isinstance(value, Mapping):
            return any(map(self.names_mark, cast("Mapping[str, object]", value).values()))
        if isinstance(value, list):
            return any(map(self.names_mark, cast("list[object]", value)))
        return self.is_mark(value)


@dataclass(frozen=True, slots=True)
class RecordingSource:
    """A source whose tools that act only write down that they were called."""

    source: ToolsetSource
    recorder: Recorder

    @property
    def name(self) -> str:
        """The source's name."""
        return self.source.name

    @property
    def about(self) -> str:
        """What the source is good for."""
        return self.source.about

    @property
    def server(self) -> str:
        """What the source's calls have in common."""
        return self.source.server

    def toolset(self, use: ToolsetUse) -> Toolset:
        """Return the source's toolset for an attempt, with its acting calls written down."""
        return _RecordingToolset(self.source.toolset(use), self.name, use.step, self.recorder)


@dataclass
class _RecordingToolset(WrapperToolset[None]):
    toolset: str
    step: str
    recorder: Recorder
    own: dict[str, ToolsetTool[None]] = field(default_factory=dict[str, ToolsetTool[None]])

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        self.own = await super().get_tools(ctx)
        return {name: self._shown(tool) for name, tool in self.own.items()}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> Any:
        del tool  # what is shown of it doesn't say whether it acts
        own = self.own[name]
        if not (is_acting(own.tool_def) or self.recorder.names_mark(tool_args)):
            return await super().call_tool(name, tool_args, ctx, own)
        if problem := next(self._problems(own, tool_args), ""):
            raise ToolFailed(problem)
        self.recorder.calls.append(RecordedCall(self.step, f"{self.toolset}.{name}", tool_args))
        return self.recorder.dry.results.get(plain_id(self.step), _NOTED)

    def _shown(self, tool: ToolsetTool[None]) -> ToolsetTool[None]:
        """Return a tool that nobody is asked about, and whose arguments may have marks in them."""
        if not is_acting(tool.tool_def) and not self._is_call:
            return tool
        metadata = {**(tool.tool_def.metadata or {}), **marked(idempotent=True)}
        shown = replace(tool.tool_def, kind="function", metadata=metadata)
        if not self._is_call:
            return replace(tool, tool_def=shown)
        return replace(
            tool, tool_def=shown, args_validator=_ANY_ARGUMENTS, args_validator_func=None
        )

    @property
    def _is_call(self) -> bool:
        """Whether its plan makes the call, not a model, so that arguments are checked here."""
        return plain_id(self.step.removesuffix("-undo")) in self.recorder.dry.results

    def _problems(self, tool: ToolsetTool[None], arguments: Mapping[str, Any]) -> Iterator[str]:
        """Say in which way arguments don't fit a tool, marks aside."""
        schema = tool.tool_def.parameters_json_schema
        for error in Draft202012Validator(schema).iter_errors(arguments):  # pyright: ignore[reportUnknownMemberType]
            if not self.recorder.is_mark(error.instance):
                yield f"{error.json_path}: {one_line(error.message, 200)}"
