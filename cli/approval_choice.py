"""The choice of the question that a command is about. Pure, except for reading the store."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
from ..store.approvals import Approvals
from ..store.question import MOST_SHOWN, Question

__all__ = ["chosen_question", "read_whole", "require_read"]


def chosen_question(approvals: Approvals, name: str | None) -> Question:
    """Return the question that is meant by a step's or a question's id; None is the only one.

    Args:
        name: In any case.

    Raises:
        InputError: The run asks nothing of that name, or several things.
    """
    pending, asked = approvals.pending(), approvals.questions()
    run_id = approvals.run.run_id
    if name is None:
        found = _plan_first(pending)
        if not found and len(asked) == 1:
            # It is answered already: another answer is refused with that.
            return asked[0]
    else:
        # An id that is answered already may be named.
        found = _named(pending, name) or _named(asked, name)[-1:]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(question.id for question in found)
        raise InputError(f"Run {run_id} waits for several answers: {names}.", "Name one of them.")
    what = f"nothing about {name!r}" if name else "nothing"
    waits = ", ".join(question.id for question in pending)
    advice = f"It waits for {waits}." if waits else f"See: prefect-swarm inspect {run_id}"
    raise InputError(f"Run {run_id} asks {what}.", advice)


def read_whole(run_id: str, question: Question) -> str:
    """Say how a question is read that is too long for where it was to be shown."""
    return f"Read all of it: prefect-swarm waiting {run_id} {question.id}"


def require_read(run_id: str, question: Question, mark: str) -> None:
    """Require that a person who approves a long question has seen its end.

    Args:
        mark: The mark shown there; "" if they gave none.

    Raises:
        InputError: It is too long to be approved unread.
    """
    if len(question.text) <= MOST_SHOWN or mark == question.mark:
        return
    wrong = f" {mark!r} is not what stands below it." if mark else ""
    raise InputError(
        f"{question.id} of run {run_id} has {len(question.text):,} characters, and is approved "
        f"with the option --read, by what stands below them.{wrong}",
        f"{read_whole(run_id, question)}",
    )


def _plan_first(pending: Sequence[Question]) -> Sequence[Question]:
    return [question for question in pending if question.asked == "plan"] or pending


def _named(questions: Sequence[Question], name: str) -> Sequence[Question]:
    wanted = name.casefold()
    exact = [question for question in questions if question.id.casefold() == wanted]
    return exact or [q for q in questions if q.step and q.step.casefold() == wanted]
