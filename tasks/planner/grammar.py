"""The grammar of plans that a model file writes under, and its form in words. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import get_args

from ...plan.output import WORKSPACE, Form, OutputKind
from ...plan.program import Collect
from ...plan.task_ir import TIERS, PlanRules

__all__ = ["plan_grammar", "plan_shape", "turn_grammar", "up_to"]


_SHAPE = """\
Answer with JSON alone, in this form:
{"create_subagent": [{"name": "…", "system_prompt": "…", "tier": "worker"}],
 "assign_task": [{"agent": "…", "prompt": "…", "depends_on": [], "output": {"kind": "text"}}]}
`output` may have after its kind, in this order: "examples": [{"call": "f(1)", "gives": "2"}],
"json_schema": "…", "sections": ["…"], "min_words": 1, "max_words": 9, "form": "list".
After `output` an assignment may have "gates": ["…"]."""

_PROGRAM_SHAPE = """\
At its end it may have, in this order: "when": {"step": "S1", "at": "/kind", "is": "…"},
"for_each": {"items": "S1", "at": "/papers", "where": {…}, "key": "/url", "max_items": 50,
"too_many": "first", "at_least": 0.9}, "repeat": {"until": {…}, "at": "", "key": "",
"max_rounds": 5, "at_end": "partial"}, "plan": {"assign_task": […], "final_step": 2},
"collect": "table", "review": {"agent": "…", "votes": 3, "pass": 2, "instructions": "…"},
"best_of": {"samples": 3, "judge": "gates"}. Instead of "is" a condition may have "is_not", "in",
"over", "under", "exists", "empty" or "matches"."""

_PROCEDURE_SHAPE = """\
At its very end an assignment whose "agent" and "prompt" are "" may have "procedure": "…" and after
it "parameters": {"…": "…"}."""

# A string is not empty, and begins with something other than a blank.
_TEXTS = r"""
string ::= "\"" first rest* "\""
name ::= "\"" first rest{0,79} "\""
first ::= [^"\\\x00-\x20\x7f] | "\\" ["\\/]
rest ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
count ::= [1-9] [0-9]{0,4}
ws ::= ("\n" [ \t]{0,16} | " ")?
"""


def plan_shape(rules: PlanRules, *, program: bool = False) -> str:
    """Return how a plan is written that obeys the grammar, for the model.

    Args:
        rules: The limits that the plan has to keep.
        program: Whether the plan may depend on what is found.
    """
    parts = [_SHAPE]
    if rules.inputs:
        parts.append('At its end an assignment may have "inputs": ["…"].')
    if rules.toolsets:
        parts.append('After `tier` a subagent may have "tools": ["…"].')
    if program:
        parts.append(_PROGRAM_SHAPE)
    if rules.procedures:
        parts.append(_PROCEDURE_SHAPE)
    return "\n".join(parts)


def plan_grammar(rules: PlanRules, *, program: bool = False) -> str:
    """Return the GBNF of plans that keep to the rules.

    Args:
        rules: The limits that the plan has to keep.
        program: Whether the plan may depend on what is found.
    """
    last, agents = _last(rules, program=program), 'subagent (ws "," ws subagent)*'
    # Procedures have agents of their own.
    agents = f"({agents})?" if rules.procedures else agents
    lines = [
        rf'root ::= "{{" ws {_key("create_subagent")} "[" ws {agents} ws "]"'
        rf' ws "," ws {_key("assign_task")} "[" ws task1 more1 ws "]" ws "}}"',
        *_tasks(rules.max_steps, last, _who(rules, program=program)),
        *_parts(rules, program=program),
    ]
    return "\n".join(lines) + _TEXTS


def turn_grammar(rules: PlanRules, *, program: bool = False, may_answer: bool = False) -> str:
    """Return the GBNF of what the orchestrator writes in a turn after the first.

    Args:
        rules: The limits that the plan has to keep.
        program: Whether the plan may depend on what is found.
        may_answer: Whether it may also write a text, which is the answer.
    """
    last, who = _last(rules, program=program), _who(rules, program=program)
    numbers = '"[" ws (count (ws "," ws count)*)? ws "]"'
    lines = [
        f"root ::= {'turn | answer' if may_answer else 'turn'}",
        r"answer ::= [^{\x00-\x20] [^\x00]*",
        'turn ::= "{" ws part (ws "," ws part){0,4} ws "}"',
        "part ::= "
        + " | ".join(
            (
                f"{_key('create_subagent')} {_listed('subagent')}",
                f"{_key('assign_task')} {_listed('task')}",
                f"{_key('cancel_task')} {_listed('cancelled')}",
                f"{_key('look_after')} {numbers}",
                f"{_key('finish')} finish",
            )
        ),
        rf'task ::= "{{" ws {who} ws "," ws {_key("depends_on")} {numbers}'
        rf' output? gates?{last} ws "}}"',
        "cancelled ::= " + _fields(f"{_key('step')} count", why="string"),
        f'finish ::= "{{" ws ({_key("answer")} string | {_key("step")} count) ws "}}"',
        *_parts(rules, program=program),
    ]
    return "\n".join(lines) + _TEXTS


def _last(rules: PlanRules, *, program: bool) -> str:
    """What may stand at the end of an assignment."""
    words = (" inputs?" if rules.inputs else "") + (" words" if program else "")
    return words + (" procedure?" if rules.procedures else "")


def _who(rules: PlanRules, *, program: bool) -> str:
    """Who does an assignment; nobody may, where something else does it."""
    return "who" if program or rules.procedures else _WHO


def _parts(rules: PlanRules, *, program: bool) -> Iterable[str]:
    """The rules of subagents, and of what assignments have."""
    yield (
        rf'subagent ::= "{{" ws {_key("name")} name ws "," ws {_key("system_prompt")} string'
        rf' (ws "," ws {_key("tier")} tier)?{" tools?" if rules.toolsets else ""} ws "}}"'
    )
    yield f"tier ::= {_one_of(TIERS)}"
    yield _output(patches=WORKSPACE in (rules.toolsets or ()))
    yield from _gates(rules.gates)
    yield from _inputs(rules.inputs)
    yield from _toolsets(rules.toolsets)
    if program:
        yield from _words()
    elif rules.procedures:
        yield from (_anybody(), _NUMBER, _TRUTH)
    if rules.procedures:
        yield from _procedures(rules.procedures)


def _tasks(most: int, last: str, who: str) -> Iterable[str]:
    """A rule for each position, since each may need other positions."""
    for place in range(1, most + 1):
        needs = f'(needed{place} (ws "," ws needed{place})*)?' if place > 1 else '""'
        yield (
            rf'task{place} ::= "{{" ws {who} ws "," ws {_key("depends_on")} "[" ws {needs} ws "]"'
            rf' output? gates?{last} ws "}}"'
        )
        following = f'(ws "," ws task{place + 1} more{place + 1})?' if place < most else '""'
        yield f"more{place} ::= {following}"
        if place > 1:
            yield f"needed{place} ::= {up_to(place - 1)}"


def up_to(largest: int) -> str:
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


def _output(*, patches: bool) -> str:
    kinds = [kind for kind in get_args(OutputKind) if patches or kind != "patch"]
    optional = {
        "examples": _listed("example"),
        "json_schema": "string",
        "sections": _listed("string"),
        "min_words": "count",
        "max_words": "count",
        "form": _one_of(get_args(Form)),
        **(dict.fromkeys(("only", "may_change"), _listed("string")) if patches else {}),
    }
    parts = "".join(_optional(name, value) for name, value in optional.items())
    return "\n".join(
        (
            rf'output ::= ws "," ws {_key("output")} "{{" ws {_key("kind")}'
            rf' ({_one_of(kinds)}){parts} ws "}}"',
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


def _procedures(known: Mapping[str, Collection[str]]) -> Iterable[str]:
    """An assignment that is a procedure, with values of that one's parameters."""
    ways = [f"procedure{number}" for number in range(1, len(known) + 1)]
    yield rf'procedure ::= ws "," ws {_key("procedure")} ({" | ".join(ways)})'
    for way, (name, parameters) in zip(ways, sorted(known.items()), strict=True):
        given = " | ".join(_key(each) for each in parameters)
        one = f"({given}) (string | number | truth)"
        listed = f'"{{" ws ({one} (ws "," ws {one})*)? ws "}}"' if given else '"{" ws "}"'
        yield rf"{way} ::= {_one_of([name])}{_optional('parameters', listed)}"


def _words() -> Iterable[str]:
    """The rules of what an assignment may have that depends on what is found."""
    fields = {
        "when": "test",
        "for_each": "items",
        "repeat": _fields(
            f"{_key('until')} (test | {_one_of(['no_new_items'])})",
            at="pointer",
            key="pointer",
            max_rounds="count",
            at_end=_one_of(["fail", "partial"]),
        ),
        "plan": _fields(f"{_key('assign_task')} {_listed('inner')}", final_step="count"),
        "collect": _one_of(get_args(Collect)),
        "review": _fields(
            f"{_key('agent')} name", votes="[1-9]", **{"pass": "[1-9]"}, instructions="string"
        ),
        "best_of": _fields(f"{_key('samples')} [2-9]", judge="name"),
    }
    yield "words ::= " + " ".join(_optional(name, value) for name, value in fields.items())
    yield _anybody()
    yield "items ::= " + _fields(
        f"{_key('items')} (string | {_listed('value')})",
        at="pointer",
        where="test",
        key="pointer",
        max_items="count",
        too_many=_one_of(["fail", "first", "ask"]),
        at_least="number",
    )
    needs = '"[" ws (count (ws "," ws count)*)? ws "]"'
    inner = f'{_WHO} ws "," ws {_key("depends_on")} {needs} output?{_optional("for_each", "items")}'
    yield f'inner ::= "{{" ws {inner} ws "}}"'
    operators = {
        "is": "value",
        "is_not": "value",
        "in": _listed("value"),
        "over": "number",
        "under": "number",
        "exists": "truth",
        "empty": "truth",
        "matches": "string",
    }
    parts = " | ".join(f"{_key(name)} {value}" for name, value in operators.items())
    yield f"operator ::= {parts}"
    looked = f'({_key("step")} string ws "," ws)? {_key("at")} pointer (ws "," ws operator)+'
    joined = f"({_key('all')} | {_key('any')}) {_listed('test')} | {_key('not')} test"
    yield f'test ::= "{{" ws ({looked} | {joined}) ws "}}"'
    yield 'pointer ::= "\\"" rest{0,200} "\\""'
    yield _NUMBER
    yield _TRUTH
    yield 'value ::= string | number | truth | "null"'


_NUMBER = 'number ::= "-"? ("0" | [1-9] [0-9]{0,8}) ("." [0-9]{1,6})?'
_TRUTH = 'truth ::= "true" | "false"'


def _anybody() -> str:
    return f'who ::= {_WHO} | {_key("agent")} "\\"\\"" ws "," ws {_key("prompt")} "\\"\\""'


def _fields(first: str, **others: str) -> str:
    """An object with a first field, and others that it may have, in this order."""
    rest = "".join(_optional(name, value) for name, value in others.items())
    return f'"{{" ws {first}{rest} ws "}}"'


def _optional(name: str, value: str) -> str:
    return f' (ws "," ws {_key(name)} ({value}))?'


def _listed(element: str) -> str:
    return f'"[" ws {element} (ws "," ws {element})* ws "]"'


def _key(name: str) -> str:
    return rf'"{_quoted(name)}" ws ":" ws'


def _one_of(names: Iterable[str]) -> str:
    return " | ".join(f'"{_quoted(name)}"' for name in names)


def _quoted(name: str) -> str:
    """A JSON string within a GBNF string."""
    return json.dumps(name, ensure_ascii=False).replace("\\", "\\\\").replace('"', '\\"')


_WHO = rf'{_key("agent")} name ws "," ws {_key("prompt")} string'
