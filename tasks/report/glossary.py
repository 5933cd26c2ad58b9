"""The words of a run's page on failures, explained to whoever reads the page alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import Category
from ...result import Action, StepResult

__all__ = ["ACTIONS", "CATEGORIES", "legend"]

ACTIONS: Mapping[Action, str] = {
    "RETRY": "asked again, and told what was wrong",
    "CONTINUE": "written on where the text was cut off",
    "THINK_HARDER": "retried at a higher temperature, with room for more",
    "SAMPLE": "several candidates at once, the first to pass wins",
    "ESCALATE": "asked on a higher tier, with another model",
    "DELEGATE": "given to another agent",
    "REPLAN": "written again by the orchestrator, or done without",
    "KEEP": "taken as it is, marked as cut off",
    "ASK": "a person was asked, and told the next attempt what they think",
    "SKIP": "done without",
    "FAIL": "given up",
}
"""What each action means, for whoever reads a page and nothing else."""

CATEGORIES: Mapping[Category, str] = {
    Category.FORMAT: "it can't be read as what it should be, or lacks its form",
    Category.SCHEMA: "JSON that its schema refuses",
    Category.CODE: "code that breaks",
    Category.LOGIC: "it runs, and gives something wrong",
    Category.TIMEOUT: "its time was over",
    Category.EARLY_ABORT: "the model was stopped, since what it wrote was certain to fail",
    Category.TRUNCATED: "the answer was cut off at the most tokens it may have",
    Category.REFUSED: "the model refused to answer, or its answer was filtered",
    Category.UNAVAILABLE: "the provider refused the request, or wasn't there",
    Category.INFRASTRUCTURE: "not the model's fault: a connection, a tool, the machine",
    Category.BUDGET: "the run, or the model's context, had no room for it",
    Category.UPSTREAM: "a step that it needs did not succeed",
    Category.UNKNOWN: "none of the known kinds of failure",
}
"""What each category means, likewise."""


def legend(steps: Sequence[StepResult]) -> str:
    """Explain the categories and actions that some steps met, and how rules are written."""
    attempts = [attempt for step in steps for attempt in step.attempts]
    categories = {attempt.category for attempt in attempts}
    actions = {attempt.decision.action for attempt in attempts if attempt.decision}
    words = {
        **{str(each): meaning for each, meaning in CATEGORIES.items() if each in categories},
        **{str(each): meaning for each, meaning in ACTIONS.items() if each in actions},
    }
    meanings = "; ".join(f"{word}: {meaning}" for word, meaning in words.items())
    return (
        f"{meanings}. A rule names the category and what its failures on this tier have led to "
        "so far; the decision is the last of these."
    )
