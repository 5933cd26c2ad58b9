"""A run that is left waiting for a person."""

from __future__ import annotations

from ..errors import SwarmError
from ..exit_codes import ExitCode
from .question import PLAN_QUESTION, Question

__all__ = ["WAYS", "RunWaitingError", "subject_words"]

WAYS = "; "
"""Stands between the ways on that a `RunWaitingError` names."""


class RunWaitingError(SwarmError):
    """Nothing of a run can go on before a person has answered.

    Attributes:
        run_id: The run's id.
        questions: What is asked; nothing if it was answered when the run was just being left.
    """

    exit_code = ExitCode.WAITING

    def __init__(
        self, run_id: str, questions: tuple[Question, ...], *, suspended: bool = False
    ) -> None:
        """Say what is waited for, and the ways on.

        Args:
            run_id: The run's id.
            questions: What is asked.
            suspended: Whether a worker goes on with the run once it is answered.
        """
        names = ", ".join(map(subject_words, questions))
        problem = (
            f"Run {run_id} waits for approval of {names}."
            if questions
            else f"Run {run_id} was left waiting, and has been answered meanwhile."
        )
        super().__init__(problem, _ways_on(run_id, questions, "" if suspended else " --resume"))
        self.args = (run_id, questions)
        self.run_id = run_id
        self.questions = questions


def subject_words(question: Question) -> str:
    """Return what a question is about, for a sentence: `the plan`, or the question's id."""
    return "the plan" if question.id == PLAN_QUESTION else question.id


def _ways_on(run_id: str, questions: tuple[Question, ...], resume: str) -> str:
    if not questions:
        return f"Go on: prefect-swarm resume {run_id}"
    name = "" if len(questions) <= 1 else f" {questions[0].id}"
    ways = [
        f"Look: prefect-swarm waiting {run_id}",
        f"Go on: prefect-swarm approve {run_id}{name}{resume}",
        f"Or: prefect-swarm reject {run_id}{name} --why TEXT{resume}",
    ]
    if _has_plan(questions):
        ways.append(f"Or: prefect-swarm edit {run_id} PLAN.yaml{resume}")
    return WAYS.join(ways)


def _has_plan(questions: tuple[Question, ...]) -> bool:
    return any(question.asked == "plan" for question in questions)
