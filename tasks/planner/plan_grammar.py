"""The grammar of plans as JSON: what obeys it needs only earlier steps and names known gates. Pure.

Agents' names and JSON within texts are the only rules of the plan language that it can't hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import get_args

from ...output import Form, OutputKind
from ...task_ir import TIERS, PlanRules

__all__ = ["plan_grammar", "plan_shape"]

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
