"""The page of a step: prompt, inputs, output, and attempts. Pure."""

from __future__ import annotations

from ..store.event_wording import undone_words
from ..text import dollars, duration, one_line, plural
from .attempts_page import attempt_section, joined, quoted, ref, way
from .lines import change_line, taken_words
from .members import member_blocks, word_of
from .page import (
    AttemptView,
    Block,
    Bullets,
    Page,
    Paragraph,
    RunView,
    Section,
    StepView,
    Strong,
    Table,
    Text,
    WebLink,
    bounded_list,
    bounded_table,
)
from .run_pages import step_memory

__all__ = ["step_page"]


OUTPUT_CHARS = 20_000
_SENT_CHARS = 12_000
_INSTRUCTIONS_CHARS = 4_000
_MOST_ATTEMPTS = 8
_LINKED = 24
_LANGUAGES = {
    "text": "markdown",
    "json": "json",
    "python": "python",
    "shell": "sh",
    "patch": "diff",
}
_READS = ("Read", "Characters", "Left out")


def step_page(view: RunView, step: StepView, *, most_output: int = OUTPUT_CHARS) -> Page:
    """Write a step's page: prompt, what it read, output, pictures, attempts, memory and files.

    Args:
        view: The run, for the steps before and after it.
        step: The step, with its texts.
        most_output: Characters of its output that are shown.
    """
    sections: list[Section] = []
    if members := member_blocks(view.steps, step):
        sections.append(Section(_titled(view, step), members))
    if step.state.prompt:
        sections.append(Section("Prompt", [quoted(step.state.prompt, _SENT_CHARS)]))
    if reads := _reads(step):
        sections.append(Section("What it read", [reads]))
    if sent := _sent(step):
        sections.append(Section("As it was sent", sent, folded=True))
    sections.append(Section("Output", _output(step, most_output)))
    if step.pictures:
        sections.append(Section("Pictures", _pictures(step)))
    sections += _attempts(step)
    if memory := step_memory(view.recall, step.id):
        sections.append(Section("Memory", memory))
    if step.files:
        files = bounded_list([(one_line(name, 200),) for name in step.files])
        sections.append(Section("Files that it left", [files]))
    title = f"{step.id} {step.state.agent}".rstrip()
    return Page(step.id, f"{title}: {step.status_words}", _lead(view, step), sections)


def _titled(view: RunView, step: StepView) -> str:
    """Name the section of a step's members: Instances, Rounds or Steps."""
    first = next(other for other in view.steps if other.parent == step.id)
    return f"{word_of(first.id).capitalize()}s"


def _lead(view: RunView, step: StepView) -> list[Block]:
    lead: list[Block] = [_line(step), way(step.id), *_relatives(view, step)]
    result = step.state
    if (turn := view.turn_of(step.id)) > 1:
        lead.append(Paragraph((f"Assigned in turn {turn} of the orchestrator.",)))
    if result.label:
        lead.append(Paragraph((f"Its item: {one_line(result.label, 300)}",)))
    if result.summary:
        lead.append(Paragraph((f"{result.summary[:1].upper()}{result.summary[1:]}.",)))
    if result.change:
        lead.append(Paragraph((f"Changed: {change_line(result.change, result.planned)}",)))
    if (part := result.part) is not None:
        flow_run = WebLink(part.url, f"flow run {part.flow_run}")
        look = f" as run {part.run}: prefect-swarm inspect {part.run}"
        on_pool = f"Its members are done on the work pool {one_line(part.pool, 200)} by "
        lead.append(Paragraph((on_pool, flow_run, look)))
    undone = (undone_words(each) for each in view.undone if each.step == step.id)
    return [*lead, *(Paragraph((f"What it did is {words}.",)) for words in undone), *_why(step)]


def _why(step: StepView) -> list[Block]:
    """Say why a step is as it is, where there is something to say."""
    result = step.state
    if result.taken_from is not None:
        look = f"prefect-swarm inspect {result.taken_from.run} --step {step.id}"
        words = f"It was {taken_words(result)}, which has its attempts: {look}"
    elif result.by_condition:
        words = f"It was skipped, which is no failure: {one_line(result.reason, 1_000)}."
    elif result.reason and result.reason != result.summary:
        words = f"Reason: {one_line(result.reason, 1_000)}"
    elif step.why:
        words = f"It {step.why}."
    else:
        return []
    return [Paragraph((words,))]


def _line(step: StepView) -> Block:
    tries = step.state.attempts
    texts: list[Text] = [Strong(step.status_words), f"makes {step.kind}"]
    if step.optional:
        texts.append("optional")
    if tries:
        tokens = sum(attempt.usage.tokens for attempt in tries)
        costs = [attempt.usage.cost_usd for attempt in tries if attempt.usage.requests]
        known = [cost for cost in costs if cost is not None]
        money = f", {dollars(sum(known))}" if known and len(known) == len(costs) else ""
        texts += [
            plural(len(tries), "attempt"),
            duration(step.state.work_s),
            f"{plural(tokens, 'token')}{money}",
        ]
    if step.state.critical:
        texts.append("on the critical path")
    elif step.state.slack_s is not None:
        texts.append(f"slack {duration(step.state.slack_s)}")
    return Paragraph(joined(texts, " · "))


def _relatives(view: RunView, step: StepView) -> list[Block]:
    """Write where the pages of the steps before and after are."""
    readers = [other.id for other in view.steps if step.id in other.upstream]
    texts: list[Text] = ["Part of ", ref(step.parent), ". "] if step.parent else []
    for words, names in (("Needs ", list(step.upstream)), ("Needed by ", readers)):
        if names:
            more = f" and {len(names) - _LINKED} more" if len(names) > _LINKED else ""
            texts += [words, *joined(map(ref, names[:_LINKED]), ", "), f"{more}. "]
    return [Paragraph(tuple(texts))] if texts else []


def _reads(step: StepView) -> Table | None:
    if not step.reads:
        return None
    omitted: dict[str, str] = {}
    if step.state.attempts:
        for part in step.state.attempts[-1].left_out:
            how = "a summary in place of" if part.summarised else f"{part.tokens:,} of"
            omitted[part.name] = f"{how} {part.of:,} tokens"
    rows: list[tuple[Text, ...]] = [
        (ref(name) if name in step.upstream else name, f"{chars:,}", omitted.get(name, ""))
        for name, chars in step.reads
    ]
    return bounded_table(_READS, rows)


def _sent(step: StepView) -> list[Block]:
    """Quote what the last attempt was sent, which has what earlier ones had led to."""
    texts = next((each for each in reversed(step.attempts) if each.sent), None)
    if texts is None or not any(each.model for each in step.state.attempts):
        return []
    blocks: list[Block] = []
    if texts.instructions:
        blocks.append(Paragraph((f"Instructions of attempt {texts.number}:",)))
        blocks.append(quoted(texts.instructions, _INSTRUCTIONS_CHARS))
    blocks.append(Paragraph((f"Prompt of attempt {texts.number}, with all that it read:",)))
    return [*blocks, quoted(texts.sent, _SENT_CHARS)]


def _output(step: StepView, most: int) -> list[Block]:
    if step.output is None:
        over = step.status in ("failed", "skipped")
        return [Paragraph(("There is none." if over else "It has not finished.",))]
    language = _LANGUAGES.get(step.kind, "")
    return [quoted(step.output, most, language, whole=step.output_chars)]


def _pictures(step: StepView) -> list[Block]:
    """Show the pictures that are drawn, and say where the others are."""
    drawn = [picture for picture in step.pictures if picture.drawn is not None]
    others = [(one_line(each.says, 600),) for each in step.pictures if each.drawn is None]
    return [*drawn, *([bounded_list(others)] if others else [])]


def _attempts(step: StepView) -> list[Section]:
    tries = step.state.attempts
    texts = {each.number: each for each in step.attempts}
    shown = tries[-_MOST_ATTEMPTS:]
    sections: list[Section] = []
    before: AttemptView | None = None
    for attempt in shown:
        counts = attempt is tries[-1] and step.output is not None
        own = texts.get(attempt.number)
        sections.append(attempt_section(attempt, own, before, counts=counts))
        before = own if own and own.answered else before
    if len(tries) > len(shown):
        more = plural(len(tries) - len(shown), "earlier attempt")
        omitted: tuple[tuple[Text, ...], ...] = ((f"{more} left out.",),)
        sections.insert(0, Section("Earlier attempts", [Bullets(omitted)]))
    return sections
