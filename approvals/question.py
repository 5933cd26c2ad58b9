"""Questions to a person, and answers. Pure."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..frozen import Frozen

__all__ = ["Answer", "Asked", "Question", "Verdict", "is_approval"]

Asked = Literal["plan", "step", "call", "uncertain_call", "failure"]
"""What a question is about: the plan, a step before it begins, a call of an acting tool, a call
that may have been made already, a required step that failed."""
Verdict = Literal["approved", "rejected", "edited"]


class Question(Frozen):
    """What a person is asked.

    Attributes:
        id: Its name within the run, the same in each process: `plan`, `S3`, `S3.1.2` (the second
            call of S3's first attempt), `S3.failed.1`.
        step: The step that waits for it; "" if it is the whole run.
        title: A line on what it is about.
        text: All that a person needs to decide, as Markdown.
        at: When it was asked, in seconds since the Unix epoch.
    """

    id: str
    asked: Asked
    step: str = ""
    attempt: int = 0
    title: str
    text: str = ""
    at: float = 0.0


class Answer(Frozen):
    """What a person decided.

    Attributes:
        why: Why it is rejected; the planner, or whoever tries next, may be shown it.
        plan: The plan that takes the place of the run's, if it is `edited`.
        by: Where it was given: `terminal`, `command`, `prefect`, `python`.
    """

    question: str
    verdict: Verdict
    why: str = ""
    plan: dict[str, Any] | None = None
    by: str = ""
    at: float = Field(default=0.0)


def is_approval(answer: Answer | None) -> bool:
    """Say whether somebody approved: no answer never is."""
    return answer is not None and answer.verdict == "approved"
