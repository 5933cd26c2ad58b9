"""The questions and answers of a run: the first answer counts, in all processes."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from ..errors import AnsweredError, RunDamagedError
from .event_wording import decided_by
from .protocol import RunStore
from .question import (
    WITHDRAWN,
    Answer,
    Question,
    bounded,
    counts_for,
    is_approval,
    number_of,
    numbered,
)
from .requested import ContentError, filled_in

__all__ = ["Approvals"]

_logger = logging.getLogger("prefect_swarm.runs")


@dataclass(frozen=True, slots=True)
class Approvals:
    """What a run asks and was answered.

    Any number of processes may answer and read in parallel; the holder of the run's lock asks.
    """

    run: RunStore

    def ask(self, question: Question) -> Question:
        """Write a question down, and return it as it is asked.

        One that was asked before, by its id and subject, stays; until it is answered, it says what
        would be asked now, whatever was kept of it. Where the id was asked
        about another subject, or its answer was withdrawn, used or counts for something else, the
        question gets the next free number: `S3#2`. What is asked no more is withdrawn.

        Raises:
            StorageError: It can't be written.
        """
        question = bounded(question)
        for number in count(1):
            named = question.model_copy(update={"id": numbered(question.id, number)})
            found, before = self._asked(named), self.readable_answer(named.id)
            if found.subject == question.subject:
                # An edited plan is not an approval: the run follows it.
                if before is None:
                    return self._as_now(found, named)
                if before.plan or counts_for(before, question.subject):
                    return found
            elif before is None:
                self.withdraw(found, "Something else is asked in its place.")
            if before is not None:
                self._note_older(before)
        raise AssertionError("unreachable")

    def answer(self, answer: Answer) -> None:
        """Write an answer down, with what its question is about; it counts from now on.

        Raises:
            AnsweredError: There is another answer, which stays; or it is asked about something
                else than was shown, or is approved and can't be shown whole, or what is filled in
                doesn't fit. The same answer again is not an error.
            RunDamagedError: There is an answer that can't be read.
            StorageError: It can't be written, and doesn't count.
        """
        if (question := self.question(answer.question)) is not None:
            if answer.subject not in ("", question.subject):
                raise AnsweredError(
                    f"{answer.question} of run {self.run.run_id} is about something else now.",
                    f"Look again: prefect-swarm waiting {self.run.run_id}",
                )
            if is_approval(answer) and question.left_out:
                raise AnsweredError(
                    f"{answer.question} of run {self.run.run_id} can't be shown whole: "
                    f"{question.left_out:,} characters are left out. So it can't be approved.",
                    f"Reject it: prefect-swarm reject {self.run.run_id} {answer.question}",
                )
            answer = _filled_in(answer, question)
        if not self.run.create_record("answer", answer, answer.question):
            first = self.answer_to(answer.question)
            if first is None or _decided(first) != _decided(answer):
                how = first.verdict if first else "answered"
                raise AnsweredError(
                    f"{answer.question} of run {self.run.run_id} is {how} already"
                    f"{f', {decided_by(first.by, first.name)}' if first and first.by else ''}.",
                    "That decision stays.",
                )

    def use(self, answer: Answer, at: float) -> None:
        """Write down that what an answer approved is about to be done: it counts no more.

        Raises:
            StorageError: It can't be written, so that it must not be done.
        """
        used = answer.model_copy(update={"used_at": at})
        self.run.write_record("answer", used, answer.question)

    def answer_to(self, question: str) -> Answer | None:
        """Return the answer to a question; None if there is none.

        Raises:
            RunDamagedError: Something else is there, which is never taken for an approval.
        """
        answer = self.run.record("answer", Answer, question)
        if answer is not None and answer.question != question:
            raise self.run.damage("answer", f"it answers {answer.question}", question)
        return answer

    def decision(self, name: str, subject: str, taken_back_at: float = 0.0) -> Answer | None:
        """Return what a person decided about a subject; None if nothing yet.

        Args:
            name: What its questions are called, except for their numbers.
            subject: The hash of what is about to be done. An answer to anything else is none, and
                so is one that can't be read.
            taken_back_at: As `counts_for` has it.
        """
        for number in count(1):
            question = numbered(name, number)
            answer = self.readable_answer(question)
            if answer is not None and counts_for(answer, subject, taken_back_at):
                return answer
            if answer is None and self.question(question) is None:
                return None
        raise AssertionError("unreachable")

    def was_used(self, name: str, subject: str, taken_back_at: float = 0.0) -> bool:
        """Say whether a decision about a subject was used, for what wasn't taken back after it."""
        for number in count(1):
            question = numbered(name, number)
            answer = self.readable_answer(question)
            was_used = answer is not None and answer.used_at > taken_back_at
            if answer is not None and was_used and answer.subject == subject:
                return True
            if answer is None and self.question(question) is None:
                return False
        raise AssertionError("unreachable")

    def readable_answer(self, question: str) -> Answer | None:
        """Return the answer to a question; None if there is none that can be read."""
        with suppress(RunDamagedError):
            return self.answer_to(question)
        return None

    def questions(self) -> tuple[Question, ...]:
        """Return all questions in the order in which they were asked; damaged ones are left out.

        Raises:
            RunDamagedError: They can't be listed.
        """
        found = self.run.records("question", Question, lambda question: question.id)
        return tuple(sorted(found, key=lambda question: (question.at, question.id)))

    def question(self, name: str) -> Question | None:
        """Return the question of that id; None if there is none that can be read."""
        with suppress(RunDamagedError):
            return self.run.record("question", Question, name)
        return None

    def edits(self) -> tuple[Answer, ...]:
        """Return the answers that have another plan, in the order of their questions."""
        asked = [question.id for question in self.questions() if question.asked == "plan"]
        answers = (self.readable_answer(name) for name in sorted(asked, key=number_of))
        return tuple(a for a in answers if a is not None and a.verdict == "edited")

    def withdraw(self, question: Question, why: str = "The plan was edited.") -> None:
        """Take back a question that has become pointless, unless it is answered.

        Raises:
            StorageError: It can't be written down.
        """
        with suppress(AnsweredError, RunDamagedError):
            self.answer(Answer(question=question.id, verdict="rejected", why=why, by=WITHDRAWN))

    def pending(self) -> tuple[Question, ...]:
        """Return the questions that have no answer; a damaged answer is none."""
        return tuple(q for q in self.questions() if self.readable_answer(q.id) is None)

    def _note_older(self, answer: Answer) -> None:
        if answer.subject or answer.is_withdrawal:
            return
        _logger.warning(
            "Run %s: %s is %s, in the form of an older version, which doesn't say what was shown. "
            "That lets nothing through: the question is asked again.",
            self.run.run_id,
            answer.question,
            answer.verdict,
        )

    def _asked(self, question: Question) -> Question:
        """Return the question of that id: the one that is there, or else this one, written down."""
        if not self.run.create_record("question", question, question.id):
            if (found := self.question(question.id)) is not None and found.id == question.id:
                return found
            self.run.write_record("question", question, question.id)
        return question

    def _as_now(self, found: Question, asked: Question) -> Question:
        """Return a question as it is asked now, and have its file say so."""
        now = asked.model_copy(update={"at": found.at})
        if now != found:
            self.run.write_record("question", now, found.id)
        return now


def _filled_in(answer: Answer, question: Question) -> Answer:
    """Return an answer with what its question is about, and with defaults where nothing is given.

    Raises:
        AnsweredError: What is filled in doesn't fit.
    """
    content = None
    if is_approval(answer):
        try:
            content = filled_in(question.fields, answer.content) or None
        except ContentError as error:
            raise AnsweredError(
                f"{answer.question} can't be approved so: {error}",
                "Fill in what it asks for, and approve it then.",
            ) from None
    return answer.model_copy(update={"subject": question.subject, "content": content})


def _decided(answer: Answer) -> tuple[object, ...]:
    return answer.verdict, answer.plan, answer.content
