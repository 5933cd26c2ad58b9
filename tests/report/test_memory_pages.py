"""The pages about a persona and a lesson say what is known, with its evidence."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from memory_commands import FAILED, OTHER, REPAIRED, TESTED
from persona_book import persona
from prefect_swarm.memory.episode import LogEntry
from prefect_swarm.memory.personas.registry import Change, KnownPersona
from prefect_swarm.report.memory_pages import lesson_page, lesson_view, persona_page, record_of
from prefect_swarm.report.page import Bullets, Figures, Page, Quoted, Table
from samples import episode

USER = episode(9, prompt="Slug", used=(REPAIRED.key,), succeeded=False, reward=-0.5)
LOG = [LogEntry(n, each) for n, each in enumerate((FAILED, REPAIRED, TESTED, OTHER, USER), 1)]
ENGINEER = KnownPersona(
    persona("python-engineer", types=("*/python",)),
    "invented",
    (
        Change(
            persona="python-engineer",
            action="invent",
            before=None,
            after="candidate",
            by="planner",
            at=0.0,
        ),
    ),
)


def page_of(known: KnownPersona = ENGINEER) -> Page:
    return persona_page(known, record_of(LOG, "default", known.persona.name), UTC)


def blocks(page: Page, title: str) -> list[Any]:
    (section,) = (section for section in page.sections if section.title == title)
    return [*section.blocks]


def rows(page: Page, title: str) -> tuple[tuple[object, ...], ...]:
    (table,) = blocks(page, title)
    assert isinstance(table, Table)
    return table.rows


def figures(page: Page) -> dict[str, str]:
    (found,) = (block for block in page.lead if isinstance(block, Figures))
    return {figure.name: figure.value for figure in found.figures}


def test_a_persona_s_page_has_its_record_over_time() -> None:
    page = page_of()
    assert page.title == "Python Engineer (python-engineer): candidate, invented"
    assert figures(page)["Attempts"] == "3"
    assert figures(page)["Succeeded"] == "33%"
    over_time = rows(page, "Record over time")
    assert [row[:4] for row in over_time] == [
        ("1970-01-01 00:16", "1", "0", "0%"),
        ("1970-01-01 00:16", "1", "1", "100%"),
        ("1970-01-01 00:16", "1", "0", "0%"),
    ]


def test_outcomes_tiers_and_types_are_counted() -> None:
    page = page_of()
    assert rows(page, "How its attempts ended") == (
        ("LOGIC", "1", "33%"),
        ("failed", "1", "33%"),
        ("succeeded", "1", "33%"),
    )
    assert rows(page, "By tier") == (("worker", "3", "1", "33%"),)
    assert rows(page, "By type of task")[0][:4] == ("chat/text", "3", "1", "33%")


def test_decisions_and_instructions_are_on_the_page() -> None:
    page = page_of()
    assert blocks(page, "Decisions") == [
        Bullets((("1970-01-01 00:00 invent by planner: candidate",),))
    ]
    assert blocks(page, "Instructions") == [Quoted("You are python-engineer.")]


def test_a_persona_without_attempts_or_decisions_has_its_instructions() -> None:
    page = page_of(KnownPersona(persona("judge"), "shipped"))
    assert [section.title for section in page.sections] == ["Instructions"]
    assert "No attempt of it is remembered yet." in str(page.lead)


def test_a_lesson_s_page_has_the_text_and_the_attempt_that_it_is_made_of() -> None:
    view = lesson_view(LOG[1], LOG, 0.25)
    page = lesson_page(view, UTC)
    quoted = page.lead[1]
    assert isinstance(quoted, Quoted)
    assert quoted.text.endswith(view.text)
    assert "“Write a function that makes a slug of a title”" in view.text
    assert "Asked: Write a function that makes a slug of a title" in str(page.sections[0].blocks)


def test_a_lessons_evidence_has_its_readers_and_its_control_group() -> None:
    page = lesson_page(lesson_view(LOG[1], LOG, 0.25), UTC)
    assert figures(page) == {
        "Worth": "+0.25",
        "Succeeded with it": "0 of 1 attempt",
        "Succeeded at the same": "0 of 1 attempt",
    }
    assert [row[0] for row in rows(page, "Shown to, or chosen by")] == ["run-9/S1.1"]
    assert [row[1] for row in rows(page, "Other attempts that were asked the same")] == ["LOGIC"]


def test_a_lesson_that_was_never_used_says_so() -> None:
    page = lesson_page(lesson_view(LOG[3], LOG, 0.5), UTC)
    assert figures(page)["Succeeded with it"] == "never used"
    assert [section.title for section in page.sections] == ["Made of this attempt"]
