"""The pages of a run: the answer first, the plan, the timeline, and one of each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from prefect_swarm.report.html import report_html
from prefect_swarm.report.members import step_page_names
from prefect_swarm.report.page import (
    Block,
    Bullets,
    Drawing,
    Page,
    Paragraph,
    Quoted,
    Ref,
    Table,
    Text,
)
from prefect_swarm.report.run_pages import answer_page, plan_page, timeline_page
from prefect_swarm.report.step_page import step_page
from report_views import busy_view, large_view


def blocks_of(page: Page) -> Iterator[Block]:
    yield from page.lead
    for section in page.sections:
        yield from section.blocks


def texts_of(page: Page) -> Iterator[Text]:
    for block in blocks_of(page):
        match block:
            case Paragraph(texts):
                yield from texts
            case Bullets(lines):
                yield from (text for line in lines for text in line)
            case Table(_, rows):
                yield from (text for row in rows for text in row)
            case Quoted(text):
                yield text
            case _:
                pass


def words_of(page: Page) -> str:
    return "\n".join(text if isinstance(text, str) else text.text for text in texts_of(page))


def titles(page: Page) -> Sequence[str]:
    return [section.title for section in page.sections]


def links(page: Page) -> set[str]:
    return {text.page for text in texts_of(page) if isinstance(text, Ref)}


BUSY = busy_view()
STEPS = {step.id for step in BUSY.steps}


def test_the_answer_stands_first_with_what_it_took() -> None:
    page = answer_page(replace(BUSY, problem="", answer="# It is\n\nso"))
    assert titles(page)[0] == "Answer"
    assert Quoted("# It is\n\nso", "markdown") in list(blocks_of(page))
    assert BUSY.status in words_of(page)
    assert f"{BUSY.cost.tokens:,} tokens" in words_of(page)


def test_a_run_that_goes_on_has_an_answers_page_that_says_so() -> None:
    page = answer_page(replace(BUSY, answer="", status="running"))
    assert "There is none yet: the run goes on." in words_of(page)


def test_an_answer_that_is_a_steps_output_is_shown_as_what_the_step_makes() -> None:
    step = replace(BUSY.steps[-1], kind="json", output='{"n": 1}')
    page = answer_page(replace(BUSY, answer='{"n": 1}', steps=(*BUSY.steps[:-1], step)))
    assert Quoted('{"n": 1}', "json") in list(blocks_of(page))


def test_a_patch_is_shown_as_a_diff() -> None:
    patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b"
    step = replace(BUSY.steps[0], kind="patch", output=patch)
    view = replace(BUSY, answer=f"{patch}\n", steps=(step, *BUSY.steps[1:]))
    for page in (answer_page(view), step_page(view, step)):
        assert Quoted(patch, "diff") in list(blocks_of(page))
    document = report_html(view, [answer_page(view)])
    assert '<span class="removed">-a</span>\n<span class="added">+b</span>' in document


def test_all_pages_lead_to_each_other() -> None:
    assert {"plan", "timeline", *STEPS} <= links(answer_page(BUSY))
    assert {"answer", "timeline", *STEPS} <= links(plan_page(BUSY))
    assert {"answer", "plan", *STEPS} <= links(timeline_page(BUSY))
    for step in BUSY.steps:
        assert {"answer", "plan", "timeline", *step.upstream} <= links(step_page(BUSY, step))


def test_the_plan_has_status_first_and_prompt_last() -> None:
    (table,) = [block for block in blocks_of(plan_page(BUSY)) if isinstance(block, Table)]
    assert (table.header[0], table.header[-1]) == ("Status", "Prompt, or why")
    assert [row[0] for row in table.rows] == [step.status for step in BUSY.steps]


def test_plan_and_timeline_are_drawn() -> None:
    drawn = [block.kind for block in blocks_of(timeline_page(BUSY)) if isinstance(block, Drawing)]
    assert drawn == ["timeline", "costs"]
    assert [b.kind for b in blocks_of(plan_page(BUSY)) if isinstance(b, Drawing)] == ["graph"]


def test_each_figure_has_its_meaning() -> None:
    page = timeline_page(BUSY)
    (figures,) = [section.blocks[0] for section in page.sections if section.title == "Figures"]
    assert all(figure.meaning for figure in figures.figures)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


def test_a_long_plan_shows_first_what_is_worth_a_look() -> None:
    view = large_view(300)
    failed = replace(view.steps[-1], status="failed")
    page = plan_page(replace(view, steps=(*view.steps[:-1], failed)))
    (table,) = [block for block in blocks_of(page) if isinstance(block, Table)]
    assert table.rows[0][1] == Ref(failed.id, failed.id)
    assert table.more == 100


def test_a_steps_page_says_what_was_sent_read_and_made() -> None:
    step = next(step for step in BUSY.steps if step.output and len(step.attempts) > 1)
    page = step_page(BUSY, step)
    words = words_of(page)
    assert titles(page)[0] == "Prompt"
    assert step.state.prompt in words
    assert step.attempts[-1].sent[:200] in words
    assert step.output is not None
    assert step.output[:200] in words
    tries = [title for title in titles(page) if title.startswith("Attempt ")]
    assert len(tries) == len(step.state.attempts)


def test_attempts_are_compared_with_the_ones_before() -> None:
    step = next(step for step in BUSY.steps if len(step.state.attempts) > 1)
    texts = tuple(
        replace(text, answered=f"same\nversion {text.number}\n") for text in step.attempts
    )
    page = step_page(BUSY, replace(step, attempts=texts))
    diffs = [b.text for b in blocks_of(page) if isinstance(b, Quoted) and b.language == "diff"]
    assert any("-version 1\n+version 2" in diff for diff in diffs)


def test_a_long_output_is_cut_and_what_is_missing_is_counted() -> None:
    step = replace(BUSY.steps[0], output="x" * 30_000, output_chars=90_000, kind="text")
    (output,) = [s.blocks[0] for s in step_page(BUSY, step).sections if s.title == "Output"]
    assert output == Quoted("x" * 20_000, "markdown", left_out=70_000)


def test_steps_beyond_the_bound_have_no_page() -> None:
    assert len(step_page_names([step.state for step in large_view(600).steps])) == 500
