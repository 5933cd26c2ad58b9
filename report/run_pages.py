"""The first pages of a run: answer, plan, timeline. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..metrics.critical_path import span_of
from ..plan.output import is_patch
from ..store.attempt import Attempt
from ..store.losses import missing_words, repeat_command
from ..store.result import Recall
from ..store.step import StepState
from ..text import dollars, duration, one_line, plural
from .attempts_page import (
    attempts_sections,
    figures,
    joined,
    quoted,
    ref,
    way,
)
from .lines import (
    changed_line,
    expected_words,
    memories_words,
    parts_line,
    shown_line,
    taken_line,
    taken_words,
    time_blocks,
    token_words,
    why_words,
)
from .members import folded, top_level, worth_a_look_first
from .messages import message_lines
from .page import (
    Block,
    Drawing,
    Page,
    Paragraph,
    Ref,
    RunView,
    Section,
    StepView,
    Strong,
    Text,
    bounded_list,
    bounded_table,
)
from .parl_figures import finding_texts, turn_blocks

__all__ = [
    "answer_page",
    "counts",
    "memory_sections",
    "money",
    "plan_page",
    "problem",
    "status_line",
    "step_memory",
    "timeline_page",
]


_ORDER = (
    "succeeded",
    "failed",
    "gave up",
    "skipped",
    "cancelled",
    "running",
    "ready",
    "asked",
    "waiting",
)
_PROBLEM_CHARS = 1_000
_FAILED = 12


def status_line(view: RunView) -> Block:
    """Say how the run ended or how far it is, what it cost and how long it took."""
    cost = view.cost
    texts: list[Text] = [Strong(view.status_words), f"{counts(view)}"]
    if view.metrics is not None:
        texts.append(f"steps took {duration(view.metrics.makespan_s)}")
    if view.ended_at is not None and view.began_at:
        texts.append(f"{duration(max(0.0, view.ended_at - view.began_at))} in all")
    texts.append(f"{plural(cost.calls, 'call')}, {token_words(cost)}{money(view)}")
    return Paragraph(joined(texts, " · "))


def counts(view: RunView) -> str:
    """Count the steps by their status: `4 steps: 3 succeeded, 1 failed`."""
    if not view.steps:
        return "no plan yet"
    steps = top_level(view.steps)
    found = Counter(step.status_words for step in steps)
    shown = ", ".join(f"{found[status]:,} {status}" for status in _ORDER if found[status])
    unmet = sum(step.state.by_condition for step in steps)
    return f"{plural(len(steps), 'step')}: {shown}{f' ({unmet:,} by condition)' if unmet else ''}"


def money(view: RunView) -> str:
    """Write what the run cost, behind what it took; "" where that isn't known."""
    usd = view.cost.money_usd
    return f", {dollars(usd)}" if usd is not None else ""


def problem(view: RunView) -> list[Block]:
    """Say what went wrong, and which steps to look at; nothing if nothing did."""
    blocks: list[Block] = []
    if view.problem:
        blocks.append(Paragraph((one_line(view.problem, _PROBLEM_CHARS),)))
    failed: list[Ref] = [ref(step.id) for step in view.steps if step.status == "failed"]
    if failed:
        more = f" and {len(failed) - _FAILED:,} more" if len(failed) > _FAILED else ""
        blocks.append(Paragraph(("Look at: ", *joined(failed[:_FAILED], ", "), f"{more}.")))
    return blocks


_REASON_CHARS = 200


def _missing(view: RunView) -> list[Block]:
    """List what the run has no output of, and say how it is done again; nothing if it is whole."""
    if not (lost := view.lost):
        return []
    lines: list[tuple[Text, ...]] = [
        (ref(step.id), f" {_item(step)}: {one_line(step.reason, _REASON_CHARS)}") for step in lost
    ]
    said: list[Block] = [
        Paragraph((f"{missing_words(lost)}, after all attempts:",)),
        bounded_list(lines),
    ]
    if view.undone:
        return said
    again = repeat_command(view.run_id, view.status)
    return [
        *said,
        Paragraph(("To do again what is missing, and what reads it:",)),
        quoted(again, _REASON_CHARS, "sh"),
    ]


def _item(step: StepState) -> str:
    return one_line(f"({step.label})" if step.label else step.agent, 60)


_ANSWER_CHARS = 40_000
_OBJECTIVE_CHARS = 2_000
_LISTED = 40


def answer_page(view: RunView) -> Page:
    """Write the page with a run's answer, or with how far the run is."""
    lead: list[Block] = [status_line(view), way("answer")]
    sections: list[Section] = []
    if view.problem:
        sections.append(Section("What went wrong", problem(view)))
    if view.answer.strip():
        answer = view.answer.strip()
        kind = _kind(view)
        sections.append(Section("Answer", [quoted(answer, _ANSWER_CHARS, kind)]))
    else:
        sections.append(Section("Answer", [Paragraph((_none_yet(view),))]))
    if missing := _missing(view):
        sections.append(Section("Missing", missing))
    sections.append(Section("Objective", [quoted(view.objective, _OBJECTIVE_CHARS)]))
    if steps := _steps(view):
        sections.append(Section("Steps", steps))
    return Page("answer", f"Answer: {one_line(view.objective, 100)}", lead, sections)


def _kind(view: RunView) -> str:
    """What an answer is written in: a final step's output is of the step's kind."""
    if is_patch(view.answer):
        return "diff"
    for step in reversed(view.steps):
        if step.output is not None and step.output.strip() == view.answer.strip():
            return _LANGUAGES.get(step.kind, "markdown")
    return "json" if view.answer.lstrip().startswith(("{", "[{")) else "markdown"


_LANGUAGES = {
    "json": "json",
    "python": "python",
    "shell": "sh",
    "files": "markdown",
    "patch": "diff",
}


def _none_yet(view: RunView) -> str:
    if view.status == "running":
        return "There is none yet: the run goes on."
    if view.status == "unfinished":
        return "There is none: the run was left before its end."
    return "There is none."


def _steps(view: RunView) -> list[Block]:
    if not view.steps:
        return []
    steps = top_level(view.steps)
    links = [ref(step.id) for step in steps[:_LISTED]]
    more = len(steps) - len(links)
    rest = f" and {plural(more, 'more step')}" if more else ""
    blocks: list[Block] = [Paragraph(("Their pages: ", *joined(links, ", "), f"{rest}."))]
    if taken := taken_line([step.state for step in view.steps]):
        blocks.append(Paragraph((taken,)))
    if parts := parts_line([step.state for step in view.steps]):
        blocks.append(Paragraph((parts,)))
    return blocks


_COLUMNS = ("Status", "Step", "Agent", "Tries", "Work", "Needs", "Prompt, or why")


def plan_page(view: RunView) -> Page:
    """Write the plan's page: the graph, and each step's status with the reason for it."""
    lead: list[Block] = [status_line(view), way("plan")]
    if view.planning is not None:
        if where := _origin(view):
            lead.append(Paragraph((where,)))
        if shown := shown_line(view.planning):
            lead.append(Paragraph((shown,)))
    sections: list[Section] = []
    if steps := worth_a_look_first(folded(view.steps)):
        sections.append(Section("Graph", [Drawing("graph", _in_words(steps))]))
        turns = [view.turn_of(step.id) for step in steps] if view.turns else []
        rows = _with_turns([_row(step) for step in steps], turns)
        columns = (*_COLUMNS[:2], "Turn", *_COLUMNS[2:]) if turns else _COLUMNS
        sections.append(Section("Steps", [bounded_table(columns, rows)], folded=True))
    if view.messages:
        sections.append(Section("Messages", [bounded_list(message_lines(view.messages))]))
    return Page("plan", f"Plan: {one_line(view.objective, 100)}", lead, sections)


def _with_turns(rows: list[tuple[Text, ...]], turns: Sequence[int]) -> list[tuple[Text, ...]]:
    """Add to each row which turn assigned its step; nothing where there are none."""
    if not turns:
        return rows
    return [(*row[:2], str(turn), *row[2:]) for row, turn in zip(rows, turns, strict=True)]


def _row(step: StepView) -> tuple[Text, ...]:
    result = step.state
    return (
        step.status_words,
        ref(step.id),
        one_line(result.agent, 40),
        str(len(result.attempts)) if result.attempts else "",
        duration(result.work_s) if result.attempts else "",
        needs(step.upstream),
        one_line(_says(step), 300),
    )


def _says(step: StepView) -> str:
    """Why it isn't done, or was done elsewhere; or else what is asked."""
    changed = changed_line(step.state)
    if step.members is not None:
        return "; ".join(filter(None, [step.why, changed, step.state.prompt]))
    if step.status == "succeeded" and step.state.taken_from is None:
        return changed or step.state.prompt
    return "; ".join(filter(None, [changed, step.why])) or step.state.prompt


def needs(upstream: Sequence[str]) -> str:
    """Name the steps that a step needs, or count them."""
    return ", ".join(upstream) if len(upstream) <= 8 else f"{len(upstream)} steps"


def _in_words(steps: Sequence[StepView]) -> str:
    edges = sum(len(step.upstream) for step in steps)
    return (
        f"The graph has {len(steps):,} steps and {edges:,} edges; the table says what each needs."
    )


def _origin(view: RunView) -> str:
    planning = view.planning
    if planning is None:
        return ""
    if planning.source == "user":
        of = f"that of the procedure {planning.procedure}" if planning.procedure else "given"
        return f"The plan was {of}."
    if planning.source == "fork":
        return f"The plan is that of {planning.forked_words}."
    score = "" if planning.score is None else f", with a score of {planning.score:.2f}"
    return f"The plan was written by {planning.model}{score}."


_MEMORY_COLUMNS = ("Step", "Persona", "Tier", "Expected", "Chosen by", "Why")


def memory_sections(recall: Recall | None, taught: Sequence[str]) -> list[Section]:
    """Say who was chosen for each step and why, by which memories, and what the run taught."""
    if recall is None:
        return []
    blocks: list[Block] = [
        Paragraph((f"{recall.episodes} attempts were remembered when the run began.",))
    ]
    if recall.note:
        blocks.append(Paragraph((one_line(recall.note, 300),)))
    if recall.episodes and recall.steps:
        rows: list[tuple[Text, ...]] = [
            (
                ref(step.step),
                step.persona,
                step.tier,
                expected_words(step),
                step.by,
                why_words(step),
            )
            for step in recall.steps
        ]
        blocks.append(bounded_table(_MEMORY_COLUMNS, rows))
        if used := [step for step in recall.steps if step.memories]:
            lines = [(one_line(f"{step.step}: {memories_words(step)}", 400),) for step in used]
            blocks += [Paragraph(("It went by these attempts:",)), bounded_list(lines)]
    if taught:
        lines = [(one_line(sentence, 200),) for sentence in taught]
        blocks += [Paragraph(("It taught:",)), bounded_list(lines)]
    return [Section("Memory", blocks, folded=True)]


def step_memory(recall: Recall | None, name: str) -> list[Block]:
    """Say what the memory made of a step; nothing if it made nothing of it."""
    step = next((each for each in recall.steps if each.step == name), None) if recall else None
    if step is None or (not step.memories and step.by == "rules" and not step.why):
        return []
    lines: list[tuple[Text, ...]] = [(f"Persona {step.persona} on tier {step.tier}, by {step.by}",)]
    lines += [(text,) for text in (one_line(why_words(step), 400),) if text]
    if step.expected_s is not None:
        lines.append((f"Expected to take {expected_words(step)}",))
    if step.memories:
        lines.append((one_line(f"Went by {memories_words(step)}", 400),))
    if step.lesson:
        lines.append((one_line(f"Told: {step.lesson}", 600),))
    return [bounded_list(lines)]


_TIMELINE_COLUMNS = (
    "Status",
    "Step",
    "Agent",
    "Start",
    "Work",
    "Waited",
    "Slack",
    "Tokens",
    "Model",
)
_MOST_ON_PATH = 40
_COSTS = "The table says how many tokens each step took."


def timeline_page(view: RunView) -> Page:
    """Write the timeline's page: bars, critical path, figures, attempts, gates and memory."""
    results = [step.state for step in view.steps]
    ran = [step for step in view.steps if step.state.attempts]
    lead: list[Block] = [status_line(view), way("timeline"), *problem(view)]
    if path := _path(ran):
        lead.append(Paragraph(("Critical path: ", *path, ".")))
    if taken := taken_line(results):
        lead.append(Paragraph((taken,)))
    sections: list[Section] = []
    if ran:
        drawing = Drawing("timeline", _timeline_in_words(ran, view.origin))
        sections.append(Section("Timeline", [drawing]))
    if found := figures(view):
        sections.append(Section("Figures", [found], folded=True))
    sections += _parl_sections(view)
    if ran:
        sections.append(Section("What it took", [Drawing("costs", _COSTS)], folded=True))
    if explained := time_blocks(view.time, results):
        sections.append(Section("Where the time went", explained, folded=True))
    if view.steps:
        shown = worth_a_look_first(folded(view.steps))
        rows = [_timeline_row(step, view.origin) for step in shown]
        sections.append(Section("Steps", [bounded_table(_TIMELINE_COLUMNS, rows)], folded=True))
    explored = view.planning.explored if view.planning else None
    sections += attempts_sections(results, explored)
    sections += memory_sections(view.recall, view.taught)
    return Page("timeline", f"Timeline: {one_line(view.objective, 100)}", lead, sections)


def _parl_sections(view: RunView) -> list[Section]:
    """Say what each turn decided and took, and which steps seem to be for nothing."""
    turns = turn_blocks(view)
    sections = [Section("Turns", turns, folded=not view.turns)] if turns else []
    if found := view.parl.findings if view.parl else ():
        lines = [finding_texts(each) for each in found]
        sections.append(Section("Steps that may cost time for nothing", [bounded_list(lines)]))
    return sections


def _path(ran: Sequence[StepView]) -> tuple[Text, ...]:
    critical = [ref(step.id) for step in ran if step.state.critical]
    more = f" → {len(critical) - _MOST_ON_PATH} more" if len(critical) > _MOST_ON_PATH else ""
    return (*joined(critical[:_MOST_ON_PATH], " → "), *([more] if more else []))


def _timeline_row(step: StepView, origin: float) -> tuple[Text, ...]:
    result = step.state
    if not result.attempts:
        return (step.status_words, ref(step.id), result.agent, *[""] * 5, taken_words(result))
    tries = result.attempts
    models = dict.fromkeys(attempt.model for attempt in tries)
    model = tries[-1].model if len(models) == 1 or step.members is None else ", ".join(models)
    slack = "" if result.slack_s is None else f"{result.slack_s:.2f} s"
    return (
        step.status_words,
        ref(step.id),
        result.agent,
        f"{tries[0].started_at - origin:.2f} s",
        f"{result.work_s:.2f} s",
        f"{sum(attempt.queue_s for attempt in tries):.2f} s",
        Strong("critical") if result.critical else slack,
        f"{sum(map(_tokens, tries)):,}",
        one_line(model, 60),
    )


def _tokens(attempt: Attempt) -> int:
    """What an attempt took, and what its decision asked of the orchestrator."""
    return attempt.usage.tokens + (attempt.decision.usage.tokens if attempt.decision else 0)


def _timeline_in_words(ran: Sequence[StepView], origin: float) -> str:
    tries = sum(len(step.state.attempts) for step in ran)
    _, last = span_of(step.state for step in ran)
    return (
        f"{plural(tries, 'attempt')} at {plural(len(ran), 'step')} within "
        f"{last - origin:.1f} s; the table says when each step began."
    )
