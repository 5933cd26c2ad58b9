"""No regular expression takes longer than in proportion to its text, whoever wrote that.

All of them are found: what a module holds, in tuples and fields too, and what a call has. Each is
tried on texts that are made from its own parse tree.
"""

from __future__ import annotations

import re

import pytest
from found_patterns import Found, modules_that_match, patterns_of
from growth import grows_faster
from pumped import Pumped, pumped_by
from source_tree import Module

_SIZE = 600

NOT_FROM_OUTSIDE = {
    "parl.data": "reads the patterns that the package has, to make texts for training",
}
MADE_IN_A_CALL = {
    "models.answers.lenient_json": "the ends of a text, as the module's `_CHUNKS` holds them",
    "models.answers.provider_words": "a tag, whose text ends where the next begins; `_any_of`'s"
    " are held by the module's names",
    "models.answers.reasoning": "a mark, escaped",
    "models.llama.chat": "the texts of a model's tokens, escaped",
    "evals.cases": "written by who runs the evaluation; only compiled",
    "evals.checks": "a number or a text of who runs the evaluation",
    "host.bounded_work": "anybody's patterns, in a process that is ended in time",
    "memory.graph_rows": "a name, escaped; the others are held by `_RULES`",
    "plan.procedure": "a parameter's text, escaped",
    "plan.regular_expression": "only compiled, or asked about one character",
    "quoting": "a mark, which is small letters alone",
    "tasks.planner.program_forms": "the name of an item, escaped",
    "store.filed_run": "a number, and up to nine digits",
    "toolsets.mcp.listing": "only compiled, to say whether it is one",
    "workspace.names": "a name of a pattern, as fnmatch writes it; tried in its own tests",
}
"""Modules with an expression that only a call knows, and what it is."""


def is_from_outside(module: Module) -> bool:
    return ".".join(module[:2]) not in NOT_FROM_OUTSIDE


def problem_of(found: Found, pumped: Pumped, size: int) -> str:
    assert found.pattern
    is_bytes = isinstance(found.pattern.pattern, bytes)

    def prepare(size: int):
        text = pumped.text(size)
        data = text.encode() if is_bytes else text
        return lambda: found.use(data)

    problem = grows_faster(prepare, size)
    return f"{found.place}, {pumped}: {problem}" if problem else ""


def first_problem(found: Found, size: int = _SIZE) -> str:
    assert found.pattern
    problems = (problem_of(found, pumped, size) for pumped in pumped_by(found.pattern))
    return next(filter(None, problems), "")


@pytest.mark.attack("growth")
@pytest.mark.parametrize("module", [*filter(is_from_outside, modules_that_match())], ids=".".join)
def test_an_expression_takes_time_in_proportion_to_its_text(module: Module) -> None:
    found = {(each.pattern, each.methods): each for each in patterns_of(module)}
    known = [each for each in found.values() if each.pattern]
    assert [*filter(None, map(first_problem, known))] == []
    made = {".".join(module) for each in found.values() if each.pattern is None}
    assert made <= MADE_IN_A_CALL.keys()


def test_what_is_left_out_is_there() -> None:
    names = {".".join(module) for module in modules_that_match()}
    assert set(MADE_IN_A_CALL) <= names
    assert all(any(name.startswith(part) for name in names) for part in NOT_FROM_OUTSIDE)


@pytest.mark.parametrize(
    "source",
    [
        r"(a+)+b",
        r"(?:\w|[a-z])*\d",
        r"\s+$",
        r"\w+=",
        r"<a>.*?</a>",
        r"\s*,\s*;",
        r"[\w-]*(?:token|secret)",
        r"\{[^}]*\}",
        r"(\d+\s*)+x",
        r"a.*b.*c",
        r'"(?:[^"\\]|\\.)*"',
        r"(?i)(?:\W+[\w']+){0,6}?\W+python",
    ],
)
def test_one_that_takes_longer_would_be_found(source: str) -> None:
    assert first_problem(Found("here", re.compile(source, re.DOTALL), frozenset({"search"})), 160)


@pytest.mark.parametrize("source", [r"\w+", r"(?<!\s)\s++x", r"<[^<>]*>", r"a.{0,50}b", r"^x$|y"])
def test_one_that_does_not_is_not_found(source: str) -> None:
    assert not first_problem(Found("here", re.compile(source), frozenset({"search"})))
