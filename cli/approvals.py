"""`prefect-swarm approve`, `reject`, `edit` and `waiting`."""

from __future__ import annotations

import json
import shlex
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast
from uuid import uuid4

import typer

from ..errors import InputError, PlanError, RunDamagedError
from ..files import read_text
from ..flows.prefect_io.form import is_suspended
from ..plan.task_ir import PlanRules, TaskIR
from ..store.question import MOST_SHOWN, PLAN_QUESTION, Answer, Question, Verdict
from ..store.requested import ContentError, filled_in
from ..text import one_line
from ..untrusted.json_text import NoJsonError, read_json
from .approval_prompt import chosen_question, require_read
from .command import AsJson
from .options import OptionChanges
from .run import RunName, resume
from .terminal.printing import print_json, print_section, print_table, print_text
from .terminal.session import say

if TYPE_CHECKING:
    from ..store.approvals import Approvals
    from ..store.protocol import RunStore

__all__ = ["ResumeNow", "approve", "edit", "go_on", "read_edit", "reject", "waiting"]


_Subject = Annotated[
    str | None,
    typer.Argument(
        metavar="[STEP]", help="A step, or a question's id; the only one, or the plan, if left out."
    ),
]
ResumeNow = Annotated[
    bool, typer.Option("--resume", help="Resume the run, if no process executes it.")
]


def approve(
    run_name: RunName,
    step: _Subject = None,
    why: Annotated[
        str, typer.Option("--why", help="What to tell the next attempt of a failed step.")
    ] = "",
    read: Annotated[
        str,
        typer.Option(
            "--read", metavar="MARK", help="The mark that `waiting` shows below a long question."
        ),
    ] = "",
    content: Annotated[
        str,
        typer.Option(
            "--content", metavar="JSON", help="What a server asks for: an object of its fields."
        ),
    ] = "",
    resume_now: ResumeNow = False,
) -> int:
    """Approve a question of a run: its plan, a step, a tool call, a server's, another attempt."""
    values = _content(content) if content else None
    return _decide(run_name, step, "approved", why, resume_now, read, values)


def reject(
    run_name: RunName,
    step: _Subject = None,
    why: Annotated[str, typer.Option("--why", help="Why; the run's result says it.")] = "",
    resume_now: ResumeNow = False,
) -> int:
    """Reject a question of a run: a step ends as failed, a plan ends the run."""
    return _decide(run_name, step, "rejected", why, resume_now)


def _content(text: str) -> dict[str, Any]:
    """Read what is filled in for a server.

    Raises:
        InputError: It is no object.
    """
    try:
        found = read_json(text)
    except NoJsonError as error:
        raise InputError(f"--content is no JSON: {error}.", _CONTENT_FORM) from None
    if not isinstance(found, dict):
        raise InputError("--content is no JSON object.", _CONTENT_FORM)
    return cast("dict[str, Any]", found)


_CONTENT_FORM = """Write an object of the question's fields: --content '{"seats": 2}'."""


def _decide(
    run_name: str,
    step: str | None,
    verdict: Verdict,
    why: str,
    resume_now: bool,
    read: str = "",
    content: dict[str, Any] | None = None,
) -> int:
    from ..store.approvals import Approvals
    from ..store.runs import find_run

    run = find_run(run_name)
    approvals = Approvals(run)
    question = chosen_question(approvals, step)
    if verdict == "approved" and approvals.readable_answer(question.id) is None:
        require_read(run.run_id, question, read)
    try:
        values = filled_in(question.fields, content) if verdict == "approved" else None
    except ContentError as error:
        look = f"Look: prefect-swarm waiting {run.run_id} {question.id}"
        raise InputError(f"{question.id} can't be approved so: {error}", look) from None
    answer = Answer(
        question=question.id,
        subject=question.subject,
        verdict=verdict,
        why=why.strip(),
        content=values,
        by="command",
        at=time.time(),
    )
    approvals.answer(answer)
    return go_on(run, f"{question.id} of run {run.run_id} is {verdict}.", resume_now)


def go_on(run: RunStore, done: str, resume_now: bool) -> int:
    """Say what was done and how the run goes on, or go on with it."""
    if run.is_executed():
        print_text(f"{done} Its process goes on by itself.")
        return 0
    if resume_now:
        print_text(done)
        return resume(run.run_id, changes=OptionChanges())
    if (result := run.result()) is not None and result.status != "failed":
        print_text(f"{done} The run is over: prefect-swarm inspect {run.run_id}")
        return 0
    if is_suspended(run) and _is_woken(run):
        print_text(f"{done} A worker resumes it.")
        return 0
    print_text(f"{done} Resume with: prefect-swarm resume {run.run_id}")
    return 0


def _is_woken(run: RunStore) -> bool:
    from ..flows.prefect_io.suspend import wake_suspended

    return wake_suspended(run)


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
    """List the questions that runs wait for: plans, steps and calls."""
    from ..store.approvals import Approvals
    from ..store.runs import find_run, list_runs, open_listed

    if run_name is not None:
        runs = [find_run(run_name)]
    else:
        unfinished = frozenset(("waiting", "running"))
        runs = [open_listed(run) for run in list_runs(statuses=unfinished)]
    found: list[tuple[RunStore, Question]] = []
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


def _print_whole(found: list[tuple[RunStore, Question]]) -> None:
    for run, question in found:
        print_section(f"{question.id}: {one_line(question.title, 200)}")
        if question.text:
            print_text(question.text)
        print_text("")
        named, more = f"{run.run_id} {question.id}", _going_on(run)
        if question.left_out:
            print_text(f"{question.left_out:,} characters are left out: it can't be approved.")
        else:
            given = f"{_read(question)}{_filled(question)}"
            print_text(f"prefect-swarm approve {named}{given}{more}")
        print_text(f"prefect-swarm reject {named} --why TEXT{more}")


def _read(question: Question) -> str:
    return f" --read {question.mark}" if len(question.text) > MOST_SHOWN else ""


def _filled(question: Question) -> str:
    """Show how the fields are filled in that have to be; names are the server's own words."""
    if not question.fields:
        return ""
    needed = [f.name for f in question.fields if f.required and f.default is None]
    names = needed or [question.fields[0].name]
    return f" --content {shlex.quote(json.dumps(dict.fromkeys(names, '...')))}"


def _going_on(run: RunStore) -> str:
    """What has the run go on here; nothing where a process or a worker does it by itself."""
    return "" if run.is_executed() or is_suspended(run) else " --resume"


def _record(run: RunStore, question: Question) -> dict[str, Any]:
    asked_at = datetime.fromtimestamp(question.at).astimezone().isoformat(timespec="seconds")
    own = {**question.model_dump(mode="json", exclude={"subject"}), "read": question.mark}
    return {"run_id": run.run_id, **own, "at": asked_at, "running": run.is_executed()}


def _row(run: RunStore, question: Question) -> tuple[str, ...]:
    return (
        run.run_id,
        f"{datetime.fromtimestamp(question.at):%Y-%m-%d %H:%M}",
        question.id,
        one_line(question.title, 200),
        "runs" if run.is_executed() else "",
    )


PlanYaml = Annotated[
    Path | None,
    typer.Argument(metavar="[PLAN]", help="A plan as YAML or JSON; - is standard input."),
]


def edit(
    run_name: RunName,
    plan: PlanYaml = None,
    resume_now: ResumeNow = False,
) -> int:
    """Replace a run's plan; without PLAN, print its plan as YAML.

    What runs is finished first. Steps that are finished and that the plan leaves as they were are
    not done again; all others are.
    """
    from ..flows.plan_changes import current_plan, rules_of
    from ..plan.documents import plan_text
    from ..store.approvals import Approvals
    from ..store.runs import find_run

    run = find_run(run_name)
    before = current_plan(run)
    if plan is None:
        print_text(plan_text(before).rstrip())
        return 0
    _require_open(run)
    changed = read_edit(run, plan, before, rules_of(run))
    if changed == before:
        raise InputError(f"{plan} is the plan that run {run.run_id} has.", "Change something.")
    inputs_after = changed.inputs.items()
    inputs = {name: text for name, text in inputs_after if before.inputs.get(name) != text}
    data = {**changed.model_dump(mode="json", exclude={"inputs"}), "inputs": inputs}
    _answer(Approvals(run), data)
    return go_on(run, f"Run {run.run_id} has another plan.", resume_now)


def _require_open(run: RunStore) -> None:
    result = run.result()
    if result is not None and result.status != "failed":
        raise InputError(
            f"Run {run.run_id} is {result.status}: its plan can't be changed any more.",
            f"Fork it with the edited plan: prefect-swarm fork {run.run_id} --plan FILE",
        )


def read_edit(run: RunStore, path: Path, before: TaskIR, rules: PlanRules) -> TaskIR:
    """Read a plan as YAML or JSON that takes the place of a run's.

    Raises:
        PlanError: It can't be taken; says each problem with its line.
    """
    from ..plan.documents import problems_of
    from ..plan.procedure_steps import resolve
    from ..store.procedures import find_procedure

    found = problems_of(read_text(path, "plan"), before, rules)
    if isinstance(found, TaskIR):
        return resolve(found, find_procedure, rules)
    problems = "; ".join(map(str, found))
    raise PlanError(
        f"The plan in {path} can't be used: {problems}.",
        f"Fix it; `prefect-swarm edit {run.run_id}` prints the current plan.",
    )


def _answer(approvals: Approvals, plan: dict[str, Any]) -> None:
    """Write the plan down: it answers what is asked about the plan, or comes unasked."""
    now = time.time()
    pending = (q.id for q in approvals.pending() if q.asked == "plan")
    name = next(pending, None)
    if name is None:
        unasked = Question(
            id=PLAN_QUESTION,
            asked="plan",
            subject=f"edit {uuid4().hex}",
            title="An edited plan",
            at=now,
        )
        name = approvals.ask(unasked).id
    approvals.answer(Answer(question=name, verdict="edited", plan=plan, by="command", at=now))
