"""`prefect-swarm waiting`: what runs ask persons, as their folders tell."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...approvals.question import MOST_SHOWN
from ...errors import RunDamagedError
from ...flows.approving.forms.kept import is_suspended
from ...settings import home
from ...text import one_line
from ..command import AsJson
from ..output.printing import print_json, print_section, print_table, print_text
from ..progress.session import say
from ..runs.listing import is_executed, list_runs
from .choosing import chosen_question

if TYPE_CHECKING:
    from ...approvals.question import Question
    from ...runs import RunFolder

__all__ = ["waiting"]

_HEADER = ("Run", "Asked", "Question", "About", "Process")
_UnlessAll = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="Only this run's, with all that is said.")
]


def waiting(
    run_name: _UnlessAll = None,
    name: Annotated[
        str | None, typer.Argument(metavar="[STEP]", help="Only this step's, or a question's id.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List what runs wait for: a person's approval of plans, steps and calls."""
    from ...approvals.store import Approvals
    from ...runs import RunFolder, find_run

    if run_name is not None:
        runs = [find_run(run_name)]
    else:
        unfinished = frozenset(("waiting", "running"))
        folder = home() / "runs"
        runs = [RunFolder(folder / r.run_id) for r in list_runs(folder, statuses=unfinished)]
    found: list[tuple[RunFolder, Question]] = []
    for run in runs:
        try:
            found += [(run, question) for question in Approvals(run).pending()]
        except RunDamagedError as error:
            if run_name is not None:
                raise
            say(f"What run {run.run_id} asks can't be read: {error.problem}")
    if name is not None:
        found = [(run, chosen_question(Approvals(run), name)) for run in runs]
    if as_json:
        print_json({"waiting": [_record(run, question) for run, question in found]})
    elif not found:
        print_text("Nothing waits for a person.")
    elif run_name is not None:
        _print_whole(found)
    else:
        print_table(_HEADER, [_row(run, question) for run, question in found])
        run, question = found[0]
        print_text("")
        print_text(f"Look closer: prefect-swarm waiting {run.run_id}")
        print_text(f"Answer: prefect-swarm approve {run.run_id} {question.id}{_going_on(run)}")
    return 0


def _print_whole(found: list[tuple[RunFolder, Question]]) -> None:
    for run, question in found:
        print_section(f"{question.id}: {one_line(question.title, 200)}")
        if question.text:
            print_text(question.text)
        print_text("")
        named, more = f"{run.run_id} {question.id}", _going_on(run)
        if question.left_out:
            print_text(f"{question.left_out:,} characters are left out: it can't be approved.")
        else:
            print_text(f"prefect-swarm approve {named}{_read(question)}{more}")
        print_text(f"prefect-swarm reject {named} --why TEXT{more}")


def _read(question: Question) -> str:
    return f" --read {question.mark}" if len(question.text) > MOST_SHOWN else ""


def _going_on(run: RunFolder) -> str:
    """What has the run go on here; nothing where a process or a worker does it by itself."""
    return "" if is_executed(run.folder) or is_suspended(run) else " --resume"


def _record(run: RunFolder, question: Question) -> dict[str, Any]:
    asked_at = datetime.fromtimestamp(question.at).astimezone().isoformat(timespec="seconds")
    own = {**question.model_dump(mode="json", exclude={"subject"}), "read": question.mark}
    return {"run_id": run.run_id, **own, "at": asked_at, "running": is_executed(run.folder)}


def _row(run: RunFolder, question: Question) -> tuple[str, ...]:
    return (
        run.run_id,
        f"{datetime.fromtimestamp(question.at):%Y-%m-%d %H:%M}",
        question.id,
        one_line(question.title, 200),
        "runs" if is_executed(run.folder) else "",
    )
