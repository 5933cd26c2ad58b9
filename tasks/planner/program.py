"""The words of plans that depend on what is found, as planners are shown them. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .facts import InputNote

__all__ = [
    "PROCEDURES_TEXT",
    "PROGRAM_TEXT",
    "PROGRAM_WORDS",
    "add_procedures",
    "add_words",
    "may_depend",
]


PROGRAM_WORDS = ("when", "for_each", "repeat", "plan", "collect", "review", "best_of")
"""What an assignment may have besides, in the order in which a grammar has it."""

PROGRAM_TEXT = """
An assignment that depends on what is found may have:
for_each: it is done once for each item; never guess how many there are. `items` is an earlier
assignment ("S1" is the first), an input (rows or a list), a pattern like "*.pdf" (one item a file),
or a list. S1 then has output kind json and a json_schema where `at`, a JSON pointer, is a list.
{item.title} in the prompt is a value of the item, {item} all of it. Over an assignment that is
for_each, without `at`, it follows item by item and waits for no other; depends_on reads all.
when: else it is skipped. repeat: until its own output meets this, each round reading the last.
plan: assignments inside, counted from 1; agent and prompt are then "", as with collect, which joins
depends_on without a model. review: others try to refute it, where much depends on it.
Example: {"agent": "Reader", "prompt": "Read {item.title}. What does it claim?",
 "for_each": {"items": "S1", "at": "/papers"}}"""


PROCEDURES_TEXT = """
procedure: instead of an agent and a prompt, which are "" then, the name of a procedure: a plan that
was made before, of which you see purpose and parameters. Use one where its purpose is what the
assignment is for, and give `parameters` their values; don't assign its parts again."""


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _one_of(*names: str) -> dict[str, Any]:
    return {"type": "string", "enum": [*names]}


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_COUNT = {"type": "integer"}
_TRUTH = {"type": "boolean"}

# No definition leads back to itself: several providers refuse such a schema. What is left out for
# that, a condition within a condition and a plan within a plan, is read all the same.
_DEFINITIONS: dict[str, Any] = {
    "Any": {"anyOf": [_TEXT, _NUMBER, _TRUTH]},
    "Test": _object(
        **{
            "step": {**_TEXT, "description": "S1, for when"},
            "at": _TEXT,
            "is": _ref("Any"),
            "is_not": _ref("Any"),
            "in": _list(_ref("Any")),
            "over": _NUMBER,
            "under": _NUMBER,
            "empty": _TRUTH,
        }
    ),
    "Items": {
        **_object(
            items={"anyOf": [_TEXT, _list(_ref("Any"))]},
            at=_TEXT,
            where=_ref("Test"),
            key=_TEXT,
            max_items=_COUNT,
            too_many=_one_of("fail", "first", "ask"),
            at_least=_NUMBER,
        ),
        "required": ["items"],
    },
    "Inner": _object(
        agent=_TEXT,
        prompt=_TEXT,
        depends_on=_list(_COUNT),
        output=_ref("PlannedOutput"),
        for_each=_ref("Items"),
    ),
}
_PROPERTIES: dict[str, Any] = {
    "when": _ref("Test"),
    "for_each": _ref("Items"),
    "repeat": _object(
        until={"anyOf": [_ref("Test"), _one_of("no_new_items")]},
        at=_TEXT,
        key=_TEXT,
        max_rounds=_COUNT,
        at_end=_one_of("fail", "partial"),
    ),
    "plan": _object(assign_task=_list(_ref("Inner")), final_step=_COUNT),
    "collect": _one_of("table", "list", "json", "files"),
    "review": _object(**{"agent": _TEXT, "votes": _COUNT, "pass": _COUNT, "instructions": _TEXT}),
    "best_of": _object(samples=_COUNT, judge=_TEXT),
}


def add_words(schema: dict[str, Any], task: str) -> None:
    """Offer the words in the JSON Schema of a plan.

    Args:
        schema: The schema, which is changed; its definitions are in `$defs`.
        task: The name of an assignment's definition.
    """
    schema["$defs"].update(_DEFINITIONS)
    schema["$defs"][task]["properties"].update(_PROPERTIES)


def add_procedures(
    schema: dict[str, Any], task: str, procedures: Mapping[str, Collection[str]]
) -> None:
    """Offer procedures in the JSON Schema of a plan.

    Args:
        schema: The schema, which is changed; its definitions are in `$defs`.
        task: The name of an assignment's definition.
        procedures: The names of their parameters, by their own.
    """
    names = sorted({name for parameters in procedures.values() for name in parameters})
    value = {"anyOf": [_TEXT, _NUMBER, _TRUTH]}
    schema["$defs"][task]["properties"] |= {
        "procedure": _one_of(*sorted(procedures)),
        "parameters": _object(**dict.fromkeys(names, value)),
    }


_FEW_WORDS = 30
_DEPENDS = re.compile(
    r"\b(?:each|every|everything|everyone|all|any|both|several|many|multiple|various|different|"
    r"most|per|one by one|lists?|listed|tables?|files?|folders?|documents?|papers?|pages?|items?|"
    r"rows?|records?|entries|"
    r"until|again|repeat\w*|iterat\w*|loops?|rounds?|keep|improve\w*|refine\w*|while|"
    r"if|unless|whether|when|where|depending|otherwise|only|except|which|who|"
    r"compar\w+|find\w*|search\w*|look up|research\w*|collect\w*|gather\w*|identif\w+|discover\w*|"
    r"survey\w*|classif\w+|sort\w*|filter\w*|group\w*|triage\w*|rank\w*|review\w*|verif\w+|"
    r"check\w*|audit\w*|test\w*|best|top|worst|latest|recent|these|those|following)\b|\d|[•*;\n]",
    re.IGNORECASE,
)
_ENGLISH = re.compile(r"\b(?:the|an?|of|to|in|on|for|and|with|me|my|is|are|what|how|why)\b", re.I)
_LISTED = frozenset({"CSV", "JSON"})
_COMPUTING = frozenset({"python"})


def may_depend(
    objective: str, inputs: Sequence[InputNote] = (), toolsets: Collection[str] = ()
) -> bool:
    """Say whether a plan may depend on what is found: then a planner is shown the words for that.

    It may where there are several inputs or one with a list in it, where toolsets find things, and
    where the objective speaks of several things, a condition or a repetition. It also may in
    doubt: an objective that is long, or isn't English.

    Args:
        objective: What is wanted.
        inputs: What is given to read.
        toolsets: Names of the toolsets that agents may have.
    """
    if len(inputs) > 1 or any(note.kind in _LISTED for note in inputs):
        return True
    if set(toolsets) - _COMPUTING:
        return True
    is_short = len(objective.split()) <= _FEW_WORDS
    is_english = bool(_ENGLISH.search(objective)) and objective.isascii()
    return not is_short or not is_english or bool(_DEPENDS.search(objective))
