"""The questions and answers of a run, a file each: the first answer counts, in all processes."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

from pydantic import BaseModel, ValidationError

from ..errors import AnsweredError, RunDamagedError
from ..files import storage_error, write_atomically
from ..runs import RunFolder
from .question import Answer, Question

__all__ = ["Approvals"]

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Approvals:
    """What a run asks and was answered. Any number of processes may read and write at once."""

    run: RunFolder

    def ask(self, question: Question) -> None:
        """Write a question down; one that was asked before stays as it is.

        Raises:
            StorageError: It can't be written.
        """
        with suppress(FileExistsError):
            self._create("questions", question.id, question)

    def answer(self, answer: Answer) -> None:
        """Write an answer down; it counts from now on.

        Raises:
            AnsweredError: There is another answer, which stays. The same verdict again is no error.
            StorageError: It can't be written, and doesn't count.
        """
        try:
            self._create("answers", answer.question, answer)
        except FileExistsError:
            first = self.answer_to(answer.question)
            if first is None or (first.verdict, first.plan) != (answer.verdict, answer.plan):
                how = first.verdict if first else "answered"
                raise AnsweredError(
                    f"{answer.question} of run {self.run.run_id} is {how} already"
                    f"{f', by {first.by}' if first and first.by else ''}.",
                    "That decision stays.",
                ) from None

    def answer_to(self, question: str) -> Answer | None:
        """Return the answer to a question; None if there is none.

        Raises:
            RunDamagedError: The file holds something else, which is never taken for an approval.
        """
        return self._read(self._path("answers", question), Answer)

    def questions(self) -> tuple[Question, ...]:
        """Return all questions, as they were asked."""
        paths = (self.run.folder / "questions").glob("*.json")
        found = (self._read(path, Question) for path in paths)
        return tuple(sorted((q for q in found if q is not None), key=lambda q: (q.at, q.id)))

    def pending(self) -> tuple[Question, ...]:
        """Return the questions that have no answer."""
        answered = {unquote(path.stem) for path in (self.run.folder / "answers").glob("*.json")}
        return tuple(question for question in self.questions() if question.id not in answered)

    def _create(self, folder: str, name: str, content: BaseModel) -> None:
        """Write a file that must not be there yet: whole, and only the first of several."""
        path = self._path(folder, name)
        text = content.model_dump_json(indent=2)
        own = path.with_name(f".{path.name}-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(own, text)
            # A link fails where a rename would put the second file in the first one's place.
            os.link(own, path)
        except FileExistsError:
            raise
        except OSError as error:
            raise storage_error(path, len(text), error) from error
        finally:
            own.unlink(missing_ok=True)

    def _path(self, folder: str, name: str) -> Path:
        return self.run.folder / folder / f"{quote(name, safe='')}.json"

    def _read(self, path: Path, model: type[M]) -> M | None:
        try:
            return model.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise RunDamagedError(
                f"{path} is damaged: {error}.", "Remove the file; the question is asked again."
            ) from None
