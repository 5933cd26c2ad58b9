"""What the memory did for a run, for its page. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ....result import Recall
from ....text import one_line
from ..memory import expected_words, memories_words, why_words
from ..page import Block, Paragraph, Section, Text
from .parts import bounded_list, bounded_table, ref

__all__ = ["memory_sections", "step_memory"]

_COLUMNS = ("Step", "Persona", "Tier", "Expected", "Chosen by", "Why")


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
        blocks.append(bounded_table(_COLUMNS, rows))
        if used := [step for step in recall.steps if step.memories]:
            lines = [(one_line(f"{step.step}: {memories_words(step)}", 400),) for step in used]
            blocks += [Paragraph(("It went by these attempts:",)), bounded_list(lines)]
    if taught:
        lines = [(one_line(sentence, 200),) for sentence in taught]
        blocks += [Paragraph(("It taught:",)), bounded_list(lines)]
    return [Section("Memory", blocks)]


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
