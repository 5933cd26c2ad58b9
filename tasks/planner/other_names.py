"""Other names that models give to the fields of a plan that depends on what is found. Pure.

Each is without case and marks, and means one field, where that isn't there under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "BEST_NAMES",
    "CONDITION_NAMES",
    "ITEMS_NAMES",
    "MARKS",
    "REPEAT_NAMES",
    "REVIEW_NAMES",
    "TASK_NAMES",
]

TASK_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("loopover", "iterateover", "map", "mapover", "fanout"), "for_each"),
    **dict.fromkeys(("if", "runif", "onlyif", "condition", "doif"), "when"),
    **dict.fromkeys(("subplan", "innerplan"), "plan"),
    **dict.fromkeys(("join", "collectas"), "collect"),
    **dict.fromkeys(("reviewers", "reviewedby"), "review"),
    **dict.fromkeys(("useprocedure", "runprocedure"), "procedure"),
    **dict.fromkeys(("params", "parametervalues"), "parameters"),
}
ITEMS_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("from", "source", "over", "in", "list", "step"), "items"),
    **dict.fromkeys(("path", "pointer", "jsonpointer", "field"), "at"),
    **dict.fromkeys(("filter", "if", "when"), "where"),
    **dict.fromkeys(("limit", "max", "maximum"), "max_items"),
    **dict.fromkeys(("uniqueby", "unique", "dedupeby", "by"), "key"),
    **dict.fromkeys(("ontoomany", "overflow"), "too_many"),
    **dict.fromkeys(("minsuccess", "minsucceeded"), "at_least"),
}
REPEAT_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("condition", "stopwhen", "stopif", "untilcondition"), "until"),
    **dict.fromkeys(
        ("maxiterations", "maxloops", "maxtimes", "maxattempts", "max", "limit", "rounds"),
        "max_rounds",
    ),
    **dict.fromkeys(("onend", "otherwise"), "at_end"),
    **dict.fromkeys(("path", "pointer"), "at"),
}
CONDITION_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("of", "source", "from", "ref", "stepid"), "step"),
    **dict.fromkeys(("path", "pointer", "field", "jsonpointer"), "at"),
    **dict.fromkeys(("equals", "eq", "equal", "equalto"), "is"),
    **dict.fromkeys(("notequals", "ne", "neq", "notequal"), "is_not"),
    **dict.fromkeys(("oneof", "isin", "among"), "in"),
    **dict.fromkeys(("gt", "greaterthan", "above", "morethan"), "over"),
    **dict.fromkeys(("lt", "lessthan", "below", "fewerthan"), "under"),
    **dict.fromkeys(("isempty",), "empty"),
    **dict.fromkeys(("regex", "pattern"), "matches"),
    **dict.fromkeys(("and", "allof"), "all"),
    **dict.fromkeys(("or", "anyof"), "any"),
}
MARKS: Mapping[str, str] = {
    "==": "is",
    "=": "is",
    "===": "is",
    "!=": "is_not",
    "!==": "is_not",
    ">": "over",
    "<": "under",
}
REVIEW_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("reviewer", "by", "critic"), "agent"),
    **dict.fromkeys(("reviewers", "count", "samples"), "votes"),
    **dict.fromkeys(("passes", "minpass", "required", "topass"), "pass"),
    **dict.fromkeys(("prompt", "criteria", "focus"), "instructions"),
}
BEST_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("n", "count", "candidates", "votes"), "samples"),
    **dict.fromkeys(("by", "judgedby", "agent"), "judge"),
}
