"""The planners of models that call tools, write JSON, or write under a grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import ClassVar, get_args

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelRequestRejectedError,
)
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ...models.answers.provider_errors import words_of
from ...models.llama.model import LlamaCppModel, LlamaCppSettings
from ...models.remote import tracing_of
from ...models.streaming import without_streaming
from ...plan.output import Form, OutputKind
from ...plan.task_ir import TIERS, PlanRules
from ..subagent.answer import watch
from .conversation import PlanContext, PlanDraft, checked_objective, converse, instructions
from .written import PLAN_TOOL, plan_schema

__all__ = ["GrammarPlanner", "StructuredPlanner", "plan_grammar", "plan_shape"]


_PURPOSE = "Write the whole plan: who is created, and what each is assigned."
_OTHERWISE_REJECTED = (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
)
"""What is rejected for another reason than the form that the plan is asked for in."""


def _by_tool(rules: PlanRules) -> ModelRequestParameters:
    schema = plan_schema(inputs=bool(rules.inputs), toolsets=rules.toolsets or ())
    tool = ToolDefinition(
        name=PLAN_TOOL, description=_PURPOSE, parameters_json_schema=schema, kind="output"
    )
    return ModelRequestParameters(
        output_mode="auto",
        output_tools=[tool],
        output_object=OutputObjectDefinition(
            json_schema=schema, name=PLAN_TOOL, description=_PURPOSE
        ),
        allow_text_output=False,
    )


_Server = tuple[str | None, str]
_NAMES_TOOLS = re.compile(r"tool|function", re.IGNORECASE)
# Written and read by the planner alone: servers, by address and model, that refused its tool and
# took the same request as text. Each of them is asked so once.
_without_tools: set[_Server] = set()


class StructuredPlanner:
    """Asks for the plan as a tool call, and as JSON where the model or its server has no tools."""

    reads_facts: ClassVar[bool] = True

    def __init__(self, model: Model) -> None:
        self._model = model

    async def plan(self, objective: str, context: PlanContext) -> PlanDraft:
        """Write a plan in one request and, if it breaks a rule, one repair.

        Raises:
            InputError: The objective is empty.
            ModelAPIError: The model can't be asked.
            NoPlanError: The model refuses, or the second plan can't be read either.
        """
        by_tool = _by_tool(context.rules)
        as_text = replace(by_tool, output_mode="prompted", output_tools=[], allow_text_output=True)
        server = (self._model.base_url, self._model.model_name)
        without_tools = _without_tools if self._model.base_url else set[_Server]()
        streaming: Callable[[], AbstractContextManager[None]] = nullcontext

        async def ask(messages: Sequence[ModelMessage]) -> ModelResponse:
            nonlocal streaming
            parameters = as_text if server in without_tools else by_tool
            try:
                return await self._ask(messages, context, parameters)
            except ModelRequestRejectedError as error:
                # Servers without tools reject what has them; they do so before anything is written.
                if parameters is as_text or isinstance(error, _OTHERWISE_REJECTED):
                    raise
                if not _NAMES_TOOLS.search(words_of(error)):
                    # Nobody knows what it is about: one more request, the plainest that there is.
                    streaming = without_streaming
                with streaming():
                    answer = await self._ask(messages, context, as_text)
                without_tools.add(server)
                return answer

        return await converse(checked_objective(objective), context, ask)

    async def _ask(
        self,
        messages: Sequence[ModelMessage],
        context: PlanContext,
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        settings = ModelSettings()
        if context.seed is not None:
            settings["seed"] = context.seed
        if context.max_tokens is not None:
            settings["max_tokens"] = context.max_tokens
        how = instructions(context.rules)
        sent = [
            replace(message, instructions=how) if isinstance(message, ModelRequest) else message
            for message in messages
        ]
        return await model_request(
            self._model,
            sent,
            model_settings=settings,
            model_request_parameters=parameters,
            instrument=tracing_of(self._model),
        )


_SHAPE = """\
Answer with JSON alone, in this form:
{"create_subagent": [{"name": "…", "system_prompt": "…", "tier": "worker"}],
 "assign_task": [{"agent": "…", "prompt": "…", "depends_on": [], "output": {"kind": "text"}}]}
`output` may have after its kind, in this order: "examples": [{"call": "f(1)", "gives": "2"}],
"json_schema": "…", "sections": ["…"], "min_words": 1, "max_words": 9, "form": "list".
After `output` an assignment may have "gates": ["…"]."""

# A string is not empty, and begins with something other than a blank.
_TEXTS = r"""
string ::= "\"" first rest* "\""
name ::= "\"" first rest{0,79} "\""
first ::= [^"\\\x00-\x20\x7f] | "\\" ["\\/]
rest ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
count ::= [1-9] [0-9]{0,4}
ws ::= ("\n" [ \t]{0,16} | " ")?
"""


def plan_shape(rules: PlanRules) -> str:
    """Return how a plan is written that obeys the grammar, for the model."""
    parts = [_SHAPE]
    if rules.inputs:
        parts.append('At its end an assignment may have "inputs": ["…"].')
    if rules.toolsets:
        parts.append('After `tier` a subagent may have "tools": ["…"].')
    return "\n".join(parts)


def plan_grammar(rules: PlanRules) -> str:
    """Return the GBNF of plans that keep to the rules."""
    lines = [
        rf'root ::= "{{" ws {_key("create_subagent")} "[" ws subagent (ws "," ws subagent)* ws "]"'
        rf' ws "," ws {_key("assign_task")} "[" ws task1 more1 ws "]" ws "}}"',
        rf'subagent ::= "{{" ws {_key("name")} name ws "," ws {_key("system_prompt")} string'
        rf' (ws "," ws {_key("tier")} tier)?{" tools?" if rules.toolsets else ""} ws "}}"',
        f"tier ::= {_one_of(TIERS)}",
        *_tasks(rules.max_steps, " inputs?" if rules.inputs else ""),
        _output(),
        *_gates(rules.gates),
        *_inputs(rules.inputs),
        *_toolsets(rules.toolsets),
    ]
    return "\n".join(lines) + _TEXTS


def _tasks(most: int, last: str) -> Iterable[str]:
    """A rule for each position, since each may need other positions."""
    for place in range(1, most + 1):
        needs = f'(needed{place} (ws "," ws needed{place})*)?' if place > 1 else '""'
        yield (
            rf'task{place} ::= "{{" ws {_key("agent")} name ws "," ws {_key("prompt")} string ws'
            rf' "," ws {_key("depends_on")} "[" ws {needs} ws "]" output? gates?{last} ws "}}"'
        )
        following = f'(ws "," ws task{place + 1} more{place + 1})?' if place < most else '""'
        yield f"more{place} ::= {following}"
        if place > 1:
            yield f"needed{place} ::= {_up_to(place - 1)}"


def _up_to(largest: int) -> str:
    """The numbers from 1 to `largest`, as alternatives over their digits."""
    digits = str(largest)
    shorter = [f"[1-9]{' [0-9]' * (length - 1)}" for length in range(1, len(digits))]
    same: list[str] = []
    for place, digit in enumerate(digits):
        lowest = 1 if place == 0 else 0
        free = " [0-9]" * (len(digits) - place - 1)
        if int(digit) > lowest:
            prefix = f'"{digits[:place]}" ' if place else ""
            same.append(f"{prefix}[{lowest}-{int(digit) - 1}]{free}")
    return " | ".join([*shorter, *same, f'"{digits}"'])


def _output() -> str:
    optional = {
        "examples": '"[" ws example (ws "," ws example)* ws "]"',
        "json_schema": "string",
        "sections": '"[" ws string (ws "," ws string)* ws "]"',
        "min_words": "count",
        "max_words": "count",
        "form": _one_of(get_args(Form)),
    }
    parts = "".join(f' (ws "," ws {_key(name)} ({value}))?' for name, value in optional.items())
    return "\n".join(
        (
            rf'output ::= ws "," ws {_key("output")} "{{" ws {_key("kind")}'
            rf' ({_one_of(get_args(OutputKind))}){parts} ws "}}"',
            rf'example ::= "{{" ws {_key("call")} string ws "," ws {_key("gives")} string ws "}}"',
        )
    )


def _gates(names: frozenset[str] | None) -> Iterable[str]:
    listed = '"[" ws gate (ws "," ws gate)* ws "]"'
    yield rf'gates ::= ws "," ws {_key("gates")} ("null" | "[" ws "]" | {listed})'
    yield f"gate ::= {_one_of(sorted(names)) if names else 'string'}"


def _inputs(names: frozenset[str] | None) -> Iterable[str]:
    if names:
        listed = '"[" ws input (ws "," ws input)* ws "]"'
        yield rf'inputs ::= ws "," ws {_key("inputs")} ("null" | "[" ws "]" | {listed})'
        yield f"input ::= {_one_of(sorted(names))}"


def _toolsets(names: frozenset[str] | None) -> Iterable[str]:
    if names:
        yield rf'tools ::= ws "," ws {_key("tools")} "[" ws toolset (ws "," ws toolset)* ws "]"'
        yield f"toolset ::= {_one_of(sorted(names))}"


def _key(name: str) -> str:
    return rf'"{_quoted(name)}" ws ":" ws'


def _one_of(names: Iterable[str]) -> str:
    return " | ".join(f'"{_quoted(name)}"' for name in names)


def _quoted(name: str) -> str:
    """A JSON string within a GBNF string."""
    return json.dumps(name, ensure_ascii=False).replace("\\", "\\\\").replace('"', '\\"')


_CONTEXT = 4096
"""Tokens of a request where a model file doesn't say."""


class GrammarPlanner:
    """Asks a model file for the plan as JSON, of which it can write nothing but a plan's form."""

    reads_facts: ClassVar[bool] = True

    def __init__(self, model: Model, local: LlamaCppModel) -> None:
        """Take a model, and the model file that it is or wraps."""
        self._model, self._local = model, local

    async def plan(self, objective: str, context: PlanContext) -> PlanDraft:
        """Write a plan in one request and, if it breaks a rule, one repair.

        Raises:
            InputError: The objective is empty.
            ModelError: The model can't be loaded, or the objective doesn't fit its context.
            NoPlanError: The second plan can't be read either.
        """
        settings = LlamaCppSettings(
            llamacpp_grammar=plan_grammar(context.rules),
            llamacpp_watch=watch("text"),
            llamacpp_repeat_penalty=1.0,
        )
        room = (self._local.limits.context_tokens or _CONTEXT) // 2
        settings["max_tokens"] = context.max_tokens or room
        system = SystemPromptPart(f"{instructions(context.rules)}\n\n{plan_shape(context.rules)}")

        async def ask(messages: Sequence[ModelMessage]) -> ModelResponse:
            sent = [ModelRequest([system]), *messages]
            # The repair, which is longer by two messages, is not to go round in the same circle.
            settings["seed"] = (context.seed or 0) + len(messages) // 2
            return await model_request(
                self._model, sent, model_settings=settings, instrument=tracing_of(self._model)
            )

        return await converse(checked_objective(objective), context, ask)
