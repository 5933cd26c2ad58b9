"""The summary of a run for a person: at its end, and later from its folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from ...errors import InputError, RunDamagedError
from ...inputs.contents import size
from ...plan.made import made_by
from ...plan.output import is_patch
from ...plan.step import final_step, needs_of
from ...report.lines import (
    LEGEND,
    call_lines,
    parts_line,
    path_table,
    recalled_line,
    run_figures,
    shown_line,
    taken_line,
    time_figures,
    time_line,
    timeline,
    token_words,
    without_line,
)
from ...report.members import folded_states, top_level
from ...report.page import Figures, RunView, Section, Table, words_of
from ...report.parl_figures import critical_words, finding_words
from ...report.run_pages import answer_page, plan_page, timeline_page
from ...report.stored_view import ended_early
from ...store.event_wording import decided_by
from ...store.protocol import RunStore
from ...store.result import Exploration, Metrics, SwarmResult
from ...store.step import StepState
from ...text import dollars, duration, one_line, plural
from .printing import (
    console,
    drawable,
    print_artifact,
    print_json,
    print_section,
    print_sections,
    print_table,
    print_text,
)

if TYPE_CHECKING:
    from ...store.protocol import RunStore
    from ...store.question import Answer, Question

__all__ = [
    "example_step",
    "exploration_of",
    "metrics_line",
    "print_exploration",
    "print_files",
    "print_questions",
    "print_run",
    "print_summary",
    "print_time",
    "print_unfinished_json",
    "question_records",
]


def print_questions(run: RunStore, step: str = "") -> None:
    """Print each question of a run, or of a step, with its answer; nothing where there is none."""
    asked = [(q, a) for q, a in _asked(run) if not step or q.step == step]
    if not asked:
        return
    print_section("Asked")
    for question, answer in asked:
        print_text(f"{question.id}: {one_line(question.title, 200)}")
        print_text(f"  {_outcome(run, question, answer)}")


def question_records(run: RunStore) -> list[dict[str, Any]]:
    """Return the questions of a run as JSON's objects, each with its `answer` or None."""
    return [
        {
            **question.model_dump(mode="json", exclude={"subject"}),
            "answer": answer and answer.model_dump(mode="json", exclude={"question"}),
        }
        for question, answer in _asked(run)
    ]


def _asked(run: RunStore) -> list[tuple[Question, Answer | None]]:
    from ...store.approvals import Approvals

    approvals = Approvals(run)
    return [
        (question, approvals.readable_answer(question.id)) for question in approvals.questions()
    ]


def _outcome(run: RunStore, question: Question, answer: Answer | None) -> str:
    if answer is None:
        return f"waits: prefect-swarm approve {run.run_id} {question.id}"
    if answer.is_withdrawal:
        return "taken back, since the plan was edited"
    when = f" at {datetime.fromtimestamp(answer.at):%Y-%m-%d %H:%M}" if answer.at else ""
    by = f" {decided_by(answer.by, answer.name)}" if answer.by else ""
    why = f": {one_line(answer.why, 300)}" if answer.why else ""
    filled = ", ".join(f"{name}: {value}" for name, value in (answer.content or {}).items())
    return f"{answer.verdict}{by}{when}{why}{f'; {one_line(filled, 300)}' if filled else ''}"


def exploration_of(run: RunStore) -> Exploration | None:
    """Return what a run that has no result yet found before it planned; None if it didn't look."""
    with suppress(RunDamagedError):
        return stored.exploration if (stored := run.record("exploration", _Explored)) else None
    return None


class _Explored(BaseModel):
    exploration: Exploration


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


def print_files(run: RunStore, steps: Iterable[StepState]) -> None:
    """Print the files of each step with their sizes and where they lie; nothing if there are none.

    Texts that were kept in files are not shown: models wrote them, and they may be anything.
    """
    lines = [
        f"{step.id} {name} ({size(file.size)}): {file.place}"
        for step in steps
        for name, file in run.artifacts(step).items()
    ]
    if lines:
        print_section("Files", lines)


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
    _print_figures(run_figures(result.metrics, result.cost, result.parl))


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


def print_unfinished_json(run: RunStore) -> None:
    """Print as JSON what there is: the plan, what is finished, and the steps that were begun."""
    about, explored, plan = run.about(), exploration_of(run), run.plan()
    print_json(
        {
            "run_id": run.run_id,
            "flow_run_id": about.flow_run_id or None,
            "status": "unfinished",
            "objective": about.objective if about else None,
            "problem": ended_early(run),
            "plan": plan and {**plan.plan, **({"edits": plan.edits} if plan.edits else {})},
            "finished_steps": list(run.finished_steps()),
            "steps": [step.model_dump(mode="json") for step in run.steps()],
            "questions": question_records(run),
            "explored": explored.model_dump(mode="json") if explored else None,
        }
    )


_RIGHT = frozenset({"Tries", "Tokens", "Work"})


def print_summary(
    result: SwarmResult, link: str | None = None, *, look_closer: bool = True, verbose: bool = False
) -> None:
    """Print the plan, the timeline, the answer, the figures and what to do next.

    Args:
        result: A finished run.
        link: Its page in the Prefect UI.
        look_closer: Say how to see more of it; not where that is said elsewhere.
        verbose: Also say what the memory did.
    """
    print_exploration(result.planning.explored)
    own = top_level(result.steps)
    print_section(f"Plan of {plural(len(own), 'step')} ({_origin(result)})")
    _print_steps(result)
    began_at = result.time.began_at if result.time else 0.0
    if chart := timeline(result.steps, console().width, began_at):
        print_section(drawable(f"Timeline   {LEGEND}"), map(drawable, chart))
    if result.answer:
        print_section("Answer")
        print_artifact(result.answer, is_markdown=_is_markdown(result))
    if result.problem:
        print_section("Problems")
        print_text(result.problem)
    print_section(f"Run {result.run_id} is {result.status_words}.")
    print_text(metrics_line(result))
    if result.time is not None:
        print_text(f"Time: {time_line(result.time)}")
    _print_others(result, verbose=verbose)
    if look_closer:
        print_text(
            f"Look closer: prefect-swarm inspect {result.run_id} [--step {example_step(result)}]"
        )
        _print_way(result)
    if link:
        print_text(f"Prefect UI:  {link}")


def _print_way(result: SwarmResult) -> None:
    """Say how changes of a workspace come into the folder; nothing where there are none."""
    if is_patch(result.answer):
        print_text(f"Apply the patch: prefect-swarm apply {result.run_id} [--branch NAME]")


def _is_markdown(result: SwarmResult) -> bool:
    """Whether an answer is prose: not data, code or a table that a final step made."""
    if result.answer.lstrip().startswith(("{", "[{")) or is_patch(result.answer):
        return False
    steps = result.plan.steps
    last = result.plan.final_step or final_step(steps)
    lists = [step.id for step in steps if step.for_each is not None]
    return last is None or made_by(steps, last, lists) == "text"


def _print_others(result: SwarmResult, *, verbose: bool) -> None:
    """Print what failed, was for nothing and taken over, and what the memory did, if asked for."""
    recalled = recalled_line(result) if verbose else ""
    lines = (
        *finding_words(result.parl),
        without_line(result),
        taken_line(result.steps),
        parts_line(result.steps),
        shown_line(result.planning) if verbose else "",
        f"Recalled {recalled}" if recalled else "",
    )
    for line in filter(None, lines):
        print_text(line)


def metrics_line(result: SwarmResult) -> str:
    """Write the figures of a run in one line."""
    metrics, cost = result.metrics, result.cost
    money = f", {dollars(cost.money_usd)}" if cost.money_usd is not None else ""
    return " · ".join(
        (
            f"makespan {duration(metrics.makespan_s)}",
            f"critical path {duration(metrics.critical_path_s)}{_waited(metrics)}",
            f"work {duration(metrics.work_s)}",
            f"parallelism {metrics.parallelism:.2f}",
            f"speedup {metrics.speedup:.2f}",
            f"critical steps {critical_words(metrics.critical_steps, result.parl)}",
            f"{plural(cost.calls, 'call')}, {token_words(cost)}{money}",
        )
    )


def _waited(metrics: Metrics) -> str:
    waited = metrics.critical_wait_s
    return f" and {duration(waited)} of waiting" if waited >= 0.1 else ""


def _origin(result: SwarmResult) -> str:
    planning = result.planning
    if planning.source == "user":
        return f"procedure {planning.procedure}" if planning.procedure else "given"
    if planning.source == "fork":
        return f"that of {planning.forked_words}"
    score = "" if planning.score is None else f", score {planning.score:.2f}"
    return f"by {planning.model}{score}"


def _print_steps(result: SwarmResult) -> None:
    needs = {step.id: step for step in result.plan.steps}
    rows = [
        (
            step.id,
            one_line(step.agent, 28),
            one_line(", ".join(needs_of(needs[step.id])), 20),
            step.status_words,
            str(len(step.attempts)),
            f"{sum(attempt.usage.tokens for attempt in step.attempts):,}",
            duration(step.work_s),
            one_line(_says(step) or needs[step.id].prompt, 200),
        )
        for step in folded_states(result.steps)
    ]
    header = ("Step", "Agent", "Needs", "Status", "Tries", "Tokens", "Work", "Prompt or reason")
    print_table(header, rows, right=_RIGHT)


def _says(step: StepState) -> str:
    """Why it isn't done, and what its members came to; or else what was asked."""
    said = [step.summary, "" if step.reason == step.summary else step.reason]
    return "; ".join(filter(None, said)) or asked(step)


def asked(step: StepState) -> str:
    """What was asked, and what that took the place of."""
    return f"{step.change}: {step.prompt} (it was {step.planned})" if step.change else step.prompt


def example_step(result: SwarmResult) -> str:
    """Return the step that is most worth a closer look."""

    def trouble(step: StepState) -> bool:
        return step.status != "succeeded" and not step.by_condition

    own = top_level(result.steps)
    failed = next((step.id for step in result.steps if step.status == "failed"), own[-1].id)
    return next((step.id for step in own if trouble(step)), failed)


def print_run(view: RunView, result: SwarmResult | None, *, verbose: bool = False) -> None:
    """Print how a run ended, or how far it is.

    Args:
        view: The run.
        result: What it came to; None if it has not ended.
        verbose: Also say what the memory did.
    """
    print_section(one_line(view.objective, 200))
    print_exploration(view.planning.explored if view.planning else None)
    pages = plan_page(view), timeline_page(view), answer_page(view)
    print_sections(_named(pages[0].sections, "Steps", "Messages"), view)
    if not view.steps:
        print_text("It had no plan yet.")
    print_sections(_named(pages[1].sections, "Timeline"), view)
    if view.turns:
        print_sections(_named(pages[1].sections, "Turns"), view)
    if result is None:
        _print_unfinished(view)
        return
    wanted = ["Answer"] if view.answer else []
    print_sections(_named(pages[2].sections, *wanted, "What went wrong"), view)
    print_section(f"Run {view.run_id} is {view.status_words}.")
    print_text(metrics_line(result))
    if result.time is not None:
        print_text(f"Time: {time_line(result.time)}")
    _print_others(result, verbose=verbose)
    print_text(f"Look closer: prefect-swarm inspect {view.run_id} [--step {example_step(result)}]")
    _print_way(result)


def _print_unfinished(view: RunView) -> None:
    if view.steps:
        own = top_level(view.steps)
        done = sum(step.output is not None for step in own)
        print_text(f"{done} of {plural(len(own), 'step')} finished.")
    if taken := taken_line([step.state for step in view.steps]):
        print_text(taken)
    if parts := parts_line([step.state for step in view.steps]):
        print_text(parts)
    started = next((step.id for step in view.steps if step.state.attempts), None)
    if started is not None:
        print_text(f"Look closer: prefect-swarm inspect {view.run_id} --step {started}")
    if view.problem:
        print_text(view.problem)


def _named(sections: Sequence[Section], *titles: str) -> list[Section]:
    return [section for section in sections if section.title in titles]
