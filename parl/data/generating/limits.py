"""Limits of generated plans: what the orchestrator's grammar can write.

Each function returns a description of the problem, or "" if there is none.
"""

from __future__ import annotations

import re

from ....errors import PlanError
from ....tasks.planner.adapter.line_format import GRAMMAR_STEPS, read_lines, write_lines

__all__ = ["MAX_WORDS", "name_problem", "objective_problem", "plan_problem", "prompt_problem"]

MAX_WORDS = 48
"""The most words of a prompt."""
_MAX_LETTERS = 40
_MAX_OBJECTIVE = 2000  # characters
_NAME = re.compile(r"[A-Z][A-Za-z0-9'&/.-]{0,14}(?: [A-Za-z0-9'&/.-]{1,15}){0,3}")
_FULL_STOP = re.compile(r"(?<!\betc)(?<!\.)\.$")
# A word that looks like `(needs`, or a number that the grammar can't write.
_BAD_WORD = re.compile(r"\(n.*|\(|[0-9].*\.|[0-9].*\.\..*")


def name_problem(name: str) -> str:
    """Check an agent's name."""
    if _NAME.fullmatch(name):
        return ""
    return f"{name!r} is not an agent's name: 1 to 4 words of at most 15 letters, the first of two"


def prompt_problem(prompt: str) -> str:
    """Check a step's prompt."""
    words = prompt.split()
    bad = [word for word in words if len(word) > _MAX_LETTERS or _BAD_WORD.fullmatch(word)]
    problems = (
        (not 2 <= len(words) <= MAX_WORDS, f"{len(words)} words, not 2 to {MAX_WORDS}"),
        (not prompt[:1].isupper(), "no capital at its beginning"),
        ("\n" in prompt, "a line break"),
        (bool(bad), f"the word {bad[0] if bad else ''!r}, which plans can't have"),
        (_FULL_STOP.search(prompt) is not None, "a full stop at its end"),
    )
    problem = next((message for applies, message in problems if applies), "")
    return f"the prompt {prompt!r} has {problem}" if problem else ""


def objective_problem(objective: str) -> str:
    """Check the objective's length."""
    fits = 0 < len(objective) <= _MAX_OBJECTIVE
    return "" if fits else f"the objective has {len(objective)} characters, not 1 to 2000"


def plan_problem(plan: str, objective: str) -> str:
    """Check that a plan can be read, and is the same when written again."""
    steps = len(plan.splitlines())
    if steps > GRAMMAR_STEPS:
        return f"{steps} steps are more than {GRAMMAR_STEPS}"
    try:
        read = read_lines(plan, objective)
        if len(read.steps) < steps:
            return f"two steps ask one agent the same: {plan!r}"
        return "" if write_lines(read) == plan else f"the plan reads back as another: {plan!r}"
    except PlanError as error:
        return error.problem
