"""The parts of a run that `run` and `inspect` print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ...errors import InputError, RunDamagedError
from ...events.wording import given_by
from ...flows.stored.view import ended_early
from ...inputs.limits import size
from ...result import Exploration, StepResult, SwarmResult
from ...runs import RunFolder
from ...tasks.report.explained import path_table, run_figures, time_figures, time_line
from ...tasks.report.lines import call_lines
from ...tasks.report.page import Figures, Table, words_of
from ...text import one_line, plural
from ...toolsets.artifacts import artifacts_of
from .printing import print_json, print_section, print_table, print_text

if TYPE_CHECKING:
    from ...approvals.question import Answer, Question
    from ...runs import RunFolder

__all__ = [
    "exploration_of",
    "print_exploration",
    "print_files",
    "print_questions",
    "print_time",
    "print_unfinished_json",
    "question_records",
]


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


def exploration_of(run: RunFolder) -> Exploration | None:
    """Return what a run that has no result yet found before it planned; None if it didn't look."""
    with suppress(RunDamagedError, ValidationError):
        if found := run.read_json("explored.json"):
            return Exploration.model_validate(found.get("exploration"))
    return None


def print_exploration(explored: Exploration | None) -> None:
    """Print each call in a line, and the notes that the planner was shown."""
    if explored is None:
        return
    print_section(f"Looked around first, with {plural(len(explored.calls), 'call')}")
    for line in call_lines(explored.calls):
        print_text(line)
    if explored.notes:
        print_text(f"Notes for the plan:\n{explored.notes}")
    if explored.problem:
        print_text(f"It came to nothing: {explored.problem}")


def print_files(run: RunFolder, steps: Iterable[StepResult]) -> None:
    """Print the files of each step with their sizes and where they lie; nothing if there are none.

    Texts that were kept in files are not shown: models wrote them, and they may be anything.
    """
    lines = [
        f"{step.id} {name} ({_size(run, path)}): {path}"
        for step in steps
        for name, path in artifacts_of(run, step).items()
    ]
    if lines:
        print_section("Files", lines)


def _size(run: RunFolder, path: Path) -> str:
    name = path.relative_to(run.folder).as_posix()
    with run.readable(name):
        return size(run.files.state(name).st_size)


def print_time(result: SwarmResult, *, as_json: bool = False) -> None:
    """Print what each second of a run went to, and what each of its figures means.

    Raises:
        InputError: An earlier version made the result, and did not measure it.
    """
    if (spent := result.time) is None:
        raise InputError(
            f"Run {result.run_id} was made by an earlier version, which did not measure this.",
            "Its attempts have their times: inspect RUN --step S1.",
        )
    if as_json:
        print_json(spent)
        return
    print_text(time_line(spent))
    print_section("What the time went to")
    _print_figures(time_figures(spent, result.steps))
    print_section("What the end waited for, in order")
    _print_table(path_table(spent))
    print_section("Figures")
    _print_figures(run_figures(result.metrics, result.cost))


def _print_figures(figures: Figures) -> None:
    # Not a table, whose last column is cut: a meaning is read as a whole, or not at all.
    names = max(len(each.name) for each in figures.figures)
    values = max(len(each.value) for each in figures.figures)
    for each in figures.figures:
        print_text(f"{each.name.ljust(names)}  {each.value.rjust(values)}  {each.meaning}")


def _print_table(table: Table) -> None:
    rows = [[words_of((cell,)) for cell in row] for row in table.rows]
    print_table(table.header, rows, right=frozenset({"Took"}))
    if table.more:
        print_text(f"and {table.more} more")


def print_unfinished_json(run: RunFolder, plan: Mapping[str, Any]) -> None:
    """Print as JSON what there is: the plan, what is finished, and the steps that were begun."""
    about, explored = run.about(), exploration_of(run)
    print_json(
        {
            "run_id": run.run_id,
            "flow_run_id": about.get("flow_run_id"),
            "status": "unfinished",
            "objective": about.get("objective"),
            "problem": ended_early(run),
            "plan": plan or None,
            "finished_steps": list(run.finished_steps()),
            "steps": [step.model_dump(mode="json") for step in run.steps()],
            "questions": question_records(run),
            "explored": explored.model_dump(mode="json") if explored else None,
        }
    )
