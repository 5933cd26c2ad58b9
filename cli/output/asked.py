"""What a run asked persons, and what they answered."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from ...events.wording import given_by
from ...text import one_line
from .printing import print_section, print_text

if TYPE_CHECKING:
    from ...approvals.question import Answer, Question
    from ...runs import RunFolder

__all__ = ["print_questions", "question_records"]


def print_questions(run: RunFolder, step: str = "") -> None:
    """Print each question of a run, or of a step, with its answer; nothing where there is none."""
    asked = [(q, a) for q, a in _asked(run) if not step or q.step == step]
    if not asked:
        return
    print_section("Asked")
    for question, answer in asked:
        print_text(f"{question.id}: {one_line(question.title, 200)}")
        print_text(f"  {_outcome(run, question, answer)}")


def question_records(run: RunFolder) -> list[dict[str, Any]]:
    """Return the questions of a run as JSON's objects, each with its `answer` or None."""
    return [
        {
            **question.model_dump(mode="json", exclude={"subject"}),
            "answer": answer and answer.model_dump(mode="json", exclude={"question"}),
        }
        for question, answer in _asked(run)
    ]


def _asked(run: RunFolder) -> list[tuple[Question, Answer | None]]:
    if not run.names("questions"):
        return []
    from ...approvals.store import Approvals

    approvals = Approvals(run)
    return [
        (question, approvals.readable_answer(question.id)) for question in approvals.questions()
    ]


def _outcome(run: RunFolder, question: Question, answer: Answer | None) -> str:
    if answer is None:
        return f"waits: prefect-swarm approve {run.run_id} {question.id}"
    if answer.is_withdrawal:
        return "taken back, since the plan was edited"
    when = f" at {datetime.fromtimestamp(answer.at):%Y-%m-%d %H:%M}" if answer.at else ""
    by = f" {given_by(answer.by, answer.name)}" if answer.by else ""
    return f"{answer.verdict}{by}{when}{f': {one_line(answer.why, 300)}' if answer.why else ''}"
