"""Questions to a person, and answers. Pure."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from ..data_types import Frozen, Moment
from ..errors import ExitCode, SwarmError
from ..text import count_in
from .requested import Content, RequestedField, needs_content

__all__ = [
    "MOST_SHOWN",
    "MOST_STORED",
    "PLAN_QUESTION",
    "WAYS",
    "WITHDRAWN",
    "Answer",
    "Asked",
    "Question",
    "RunWaitingError",
    "Verdict",
    "bounded",
    "counts_for",
    "is_approval",
    "number_of",
    "numbered",
    "subject_words",
]


WITHDRAWN = "edit"
PLAN_QUESTION = "plan"
"""The id of the question about a run's plan."""

MOST_SHOWN = 60_000
"""Characters of questions that a form has room for, or a terminal that asks. What is longer is
approved by a person who has read it elsewhere: they have its `mark`."""
MOST_STORED = 1_000_000
"""Characters of a question that are kept. What is longer can't be shown whole by anything, and is
not approved."""

Asked = Literal["items", "plan", "turn", "step", "call", "uncertain_call", "elicitation", "failure"]
"""What a question is about: more items than a step may have, the plan, what a turn of the
orchestrator's adds to it, a step before it begins, a call of an acting tool, a call that may have
been made already, what the server of a tool asks its user in the middle of a call, a required
step that failed."""
Verdict = Literal["approved", "rejected", "edited"]


class Question(Frozen):
    """What a person is asked.

    Attributes:
        id: Its name within the run, the same in each process: `plan`, `S3`, `S3.1.2` (the second
            call of S3's first attempt), `S3.failed.1`. What the same name was asked about before,
            with another subject, keeps it: then it is `S3#2`.
        subject: A hash of what exactly is asked about. An answer counts for this alone.
        step: The step that waits for it; "" if it is the whole run.
        title: A line on what it is about.
        text: All that a person needs to decide, as Markdown: what it is about comes first, and
            whole. What others wrote stands in it as code.
        left_out: Characters that the text lacks. Then it can only be rejected.
        fields: What a person fills in who approves; the answer has it as `content`.
        at: When it was asked, in seconds since the Unix epoch.
    """

    id: str = Field(min_length=1, max_length=1000)
    asked: Asked
    subject: str = ""
    step: str = ""
    attempt: int = 0
    title: str
    text: str = ""
    left_out: int = 0
    fields: tuple[RequestedField, ...] = ()
    at: Moment = 0.0

    @property
    def mark(self) -> str:
        """What stands below the whole text, and shows that somebody has come to its end."""
        seen = f"{self.id}\n{self.subject}\n{self.text}"
        return hashlib.sha256(seen.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class Answer(Frozen):
    """What a person decided.

    Attributes:
        subject: The hash of what exactly they were shown; "" if an older version wrote it.
        why: Why it is rejected; the planner, or the next attempt, may be shown it.
        plan: The plan that takes the place of the run's, if it is `edited`.
        content: What is filled in, by the names of the question's fields, if it is `approved`.
        by: Which way it came: `terminal`, `command`, `form` (of the Prefect UI), `api` (a program
            that asks the Prefect server, such as an automation's), `python`; `edit` where an edited
            plan, or another question in its place, has made the question pointless. An older
            version wrote `prefect` for both the form and the API.
        name: Who gave it, as they say in the form; nothing checks it.
        used_at: When a call was made that it approved: it counts for no other one. 0 until then.
    """

    question: str
    subject: str = ""
    verdict: Verdict
    why: str = ""
    plan: dict[str, Any] | None = None
    content: Content | None = None
    by: str = ""
    name: str = ""
    at: Moment = 0.0
    used_at: Moment = 0.0

    @property
    def words(self) -> str:
        """The words of a rejection for its readers."""
        words = f"A person rejected it{f': {self.why}' if self.why else ''}"
        return words if words.endswith((".", "!", "?")) else f"{words}."

    @property
    def is_withdrawal(self) -> bool:
        """Whether no person gave it: the question isn't asked any more."""
        return self.by == WITHDRAWN

    @model_validator(mode="after")
    def _has_a_plan_if_edited(self) -> Self:
        if (self.verdict == "edited") != (self.plan is not None):
            raise ValueError("a plan is there if, and only if, the verdict is edited")
        if self.content and self.verdict != "approved":
            raise ValueError("something is filled in, and the verdict is not approved")
        return self


def bounded(question: Question) -> Question:
    """Return a question with as much of its text as is kept."""
    over = len(question.text) - MOST_STORED
    if over <= 0:
        return question
    changes = {"text": question.text[:MOST_STORED], "left_out": question.left_out + over}
    return question.model_copy(update=changes)


def counts_for(answer: Answer, subject: str, taken_back_at: float = 0.0) -> bool:
    """Say whether an answer decides about a subject: a person gave it, for this, and it is unused.

    One that an older version stored doesn't say what it was for, and decides nothing.

    Args:
        answer: The answer.
        subject: What is about to be done.
        taken_back_at: When that was last begun and taken back: a use before that is none.
    """
    is_unused = not answer.used_at or answer.used_at <= taken_back_at
    return not answer.is_withdrawal and answer.subject == subject and is_unused


def is_approval(answer: Answer | None) -> bool:
    """Say whether somebody approved: no answer never is."""
    return answer is not None and answer.verdict == "approved"


def numbered(name: str, number: int) -> str:
    """Return the id of the number-th question of a name, counted from 1."""
    return name if number == 1 else f"{name}#{number}"


def number_of(question: str) -> int:
    """Return which question of its name one is, by its id."""
    number = question.rpartition("#")[2] if "#" in question else ""
    return 1 if (found := count_in(number)) is None else found


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
        return f"Continue: prefect-swarm resume {run_id}"
    name = "" if len(questions) <= 1 else f" {questions[0].id}"
    content = " --content JSON" if any(needs_content(q.fields) for q in questions[:1]) else ""
    ways = [
        f"Look: prefect-swarm waiting {run_id}",
        f"Continue: prefect-swarm approve {run_id}{name}{content}{resume}",
        f"Or: prefect-swarm reject {run_id}{name} --why TEXT{resume}",
    ]
    if _has_plan(questions):
        ways.append(f"Or: prefect-swarm edit {run_id} PLAN.yaml{resume}")
    return WAYS.join(ways)


def _has_plan(questions: tuple[Question, ...]) -> bool:
    return any(question.asked == "plan" for question in questions)
