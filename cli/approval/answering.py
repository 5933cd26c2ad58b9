"""`prefect-swarm approve` and `prefect-swarm reject`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from ...approvals.question import Answer, Verdict
from ...flows.approving.forms.kept import is_suspended
from ..options import OptionChanges
from ..output.printing import print_text
from ..resume import RunName, resume
from ..runs.listing import is_executed
from .choosing import chosen_question, require_read

if TYPE_CHECKING:
    from ...runs import RunFolder

__all__ = ["ResumeNow", "approve", "go_on", "reject"]

_Subject = Annotated[
    str | None,
    typer.Argument(
        metavar="[STEP]", help="A step, or a question's id; the only one, or the plan, if left out."
    ),
]
ResumeNow = Annotated[
    bool, typer.Option("--resume", help="Go on with the run, if no process executes it.")
]


def approve(
    run_name: RunName,
    step: _Subject = None,
    why: Annotated[
        str, typer.Option("--why", help="What the next attempt of a failed step is told.")
    ] = "",
    read: Annotated[
        str,
        typer.Option("--read", metavar="MARK", help="What `waiting` shows below a long question."),
    ] = "",
    resume_now: ResumeNow = False,
) -> int:
    """Approve what a run waits for: its plan, a step, a call of a tool, another attempt."""
    return _decide(run_name, step, "approved", why, resume_now, read)


def reject(
    run_name: RunName,
    step: _Subject = None,
    why: Annotated[str, typer.Option("--why", help="Why; the run's result says it.")] = "",
    resume_now: ResumeNow = False,
) -> int:
    """Reject what a run waits for: a step ends as failed, a plan ends the run."""
    return _decide(run_name, step, "rejected", why, resume_now)


def _decide(
    run_name: str, step: str | None, verdict: Verdict, why: str, resume_now: bool, read: str = ""
) -> int:
    from ...approvals.store import Approvals
    from ...runs import find_run

    run = find_run(run_name)
    approvals = Approvals(run)
    question = chosen_question(approvals, step)
    if verdict == "approved" and approvals.readable_answer(question.id) is None:
        require_read(run.run_id, question, read)
    answer = Answer(
        question=question.id,
        subject=question.subject,
        verdict=verdict,
        why=why.strip(),
        by="command",
        at=time.time(),
    )
    approvals.answer(answer)
    return go_on(run, f"{question.id} of run {run.run_id} is {verdict}.", resume_now)


def go_on(run: RunFolder, done: str, resume_now: bool) -> int:
    """Say what was done and how the run goes on, or go on with it."""
    if is_executed(run.folder):
        print_text(f"{done} Its process goes on by itself.")
        return 0
    if resume_now:
        print_text(done)
        return resume(run.run_id, changes=OptionChanges())
    if (result := run.result()) is not None and result.status != "failed":
        print_text(f"{done} The run is over: prefect-swarm inspect {run.run_id}")
        return 0
    if is_suspended(run) and _is_woken(run):
        print_text(f"{done} A worker goes on with it.")
        return 0
    print_text(f"{done} Go on with: prefect-swarm resume {run.run_id}")
    return 0


def _is_woken(run: RunFolder) -> bool:
    from ...flows.approving.forms.leaving import wake_suspended

    return wake_suspended(run)
