"""The planner of model files without a planner's adapter: JSON under a grammar."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import get_args

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart
from pydantic_ai.models import Model

from ...blocks.llama.model import LlamaCppModel, LlamaCppSettings
from ...blocks.traced import tracing_of
from ...output import Form, OutputKind
from ...task_ir import TIERS, PlanRules
from ..subagent.answer_checks import watch
from .conversation import checked_objective, converse, instructions
from .protocol import PlanContext, PlanDraft

__all__ = ["GrammarPlanner", "plan_grammar", "plan_shape"]


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
