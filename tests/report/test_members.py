"""Steps with members are one step in a plan's pages, opened into a table of their members."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.metrics.critical_path import critical_path
from prefect_swarm.report.lines import bars, timeline
from prefect_swarm.report.members import (
    MOST_MEMBERS,
    folded,
    member_blocks,
    needs_within,
    ranges,
    step_page_names,
    tally_words,
)
from prefect_swarm.report.page import Page, Paragraph, RunView, Table, words_of
from prefect_swarm.report.run_html import pages_of
from prefect_swarm.report.run_pages import answer_page, counts, plan_page, timeline_page
from prefect_swarm.report.step_page import step_page
from prefect_swarm.report.svg.costs import by_step
from prefect_swarm.report.svg.graph import graph_says, graph_svg
from prefect_swarm.report.svg.timeline import lanes, timeline_svg
from report_views import spread_view

SVG = "{http://www.w3.org/2000/svg}"


def table_of(page: Page, title: str) -> Table:
    section = next(each for each in page.sections if each.title == title)
    return next(block for block in section.blocks if isinstance(block, Table))


def cells(table: Table, column: str) -> list[str]:
    place = table.header.index(column)
    return [words_of((row[place],)) for row in table.rows]


def page_of(view: RunView, name: str) -> Page:
    return step_page(view, next(step for step in view.steps if step.id == name))


def nodes(view: RunView) -> dict[str, str]:
    """The cards of a graph, with what stands on each."""
    document = ElementTree.fromstring(graph_svg(view)).iter(f"{SVG}g")
    return {
        each.attrib["data-step"]: " ".join(text.text or "" for text in each.iter(f"{SVG}text"))
        for each in document
        if "data-step" in each.attrib
    }


def test_the_graph_has_one_node_for_a_step_with_members() -> None:
    document = nodes(spread_view())
    assert set(document) == {"S1", "S2", "S3", "S4", "S5", "S6"}
    assert "18 of 20 done, 2 failed" in document["S2"]
    assert "2 of 2 rounds done" in document["S3"]
    assert "by condition" in document["S5"]


def test_the_graph_says_how_far_members_are() -> None:
    said = graph_says(spread_view())
    assert said.startswith("The graph of 6 steps: 5 succeeded, 1 skipped.")
    assert "S2: 18 of 20 instances done, 2 failed." in said


def test_a_graph_of_a_thousand_members_is_no_larger_than_one_of_ten() -> None:
    assert len(graph_svg(spread_view(1000))) < 1.1 * len(graph_svg(spread_view(10)))


def test_a_plans_page_has_a_row_for_each_step_of_the_plan() -> None:
    table = table_of(plan_page(spread_view()), "Steps")
    assert cells(table, "Step") == ["S1", "S2", "S3", "S4", "S5", "S6"]
    says = dict(zip(cells(table, "Step"), cells(table, "Prompt, or why"), strict=True))
    assert says["S2"].startswith("18 of 20 instances done, 2 failed; Say what")
    assert says["S3"].startswith("2 of 2 rounds done; ended after 2 rounds: /problems is empty")
    assert cells(table, "Tries")[1] == "20"


def test_steps_are_counted_without_their_members() -> None:
    assert counts(spread_view()) == "6 steps: 5 succeeded, 1 skipped (1 by condition)"
    answer = answer_page(spread_view())
    links = next(each for each in answer.sections if each.title == "Steps").blocks[0]
    assert isinstance(links, Paragraph)
    assert words_of(links.texts) == "Their pages: S1, S2, S3, S4, S5, S6."


def test_a_steps_page_has_a_table_of_its_instances_with_failures_first() -> None:
    table = table_of(page_of(spread_view(), "S2"), "Instances")
    assert cells(table, "Instance")[:3] == ["S2[3]", "S2[9]", "S2[1]"]
    assert cells(table, "Item")[0] == "Paper 3"
    assert cells(table, "Says")[0] == "SCHEMA: no price"
    assert cells(table, "Gates")[0].startswith("schema: ")
    assert len(table.rows) == 20


def test_a_steps_page_has_its_rounds_and_what_ended_them() -> None:
    page = page_of(spread_view(), "S3")
    lead = [words_of(block.texts) for block in page.lead if isinstance(block, Paragraph)]
    assert "Ended after 2 rounds: /problems is empty." in lead
    assert cells(table_of(page, "Rounds"), "Round") == ["S3r1", "S3r2"]


def test_a_steps_page_has_the_steps_of_the_plan_inside_it() -> None:
    page = page_of(spread_view(), "S4")
    assert cells(table_of(page, "Steps"), "Step") == ["S4.S1", "S4.S2"]
    assert "Prompt" not in [section.title for section in page.sections]


def test_a_members_page_leads_to_its_step() -> None:
    page = page_of(spread_view(), "S2[3]")
    lead = [words_of(block.texts) for block in page.lead if isinstance(block, Paragraph)]
    assert "Part of S2. " in lead
    assert "Its item: Paper 3" in lead


def test_a_step_that_its_condition_skipped_says_so_and_is_no_failure() -> None:
    view = spread_view(lost=())
    lead = [words_of(b.texts) for b in page_of(view, "S5").lead if isinstance(b, Paragraph)]
    assert any("skipped, which is no failure: its condition doesn't hold" in line for line in lead)
    first = timeline_page(view).lead
    assert not any("Look at" in words_of(b.texts) for b in first if isinstance(b, Paragraph))


def test_a_table_of_a_thousand_is_bounded_and_no_failure_is_left_out() -> None:
    lost = range(1, 1001, 3)
    view = spread_view(1000, lost)
    table, rest = member_blocks(view.steps, view.steps[1])
    assert isinstance(table, Table)
    assert isinstance(rest, Paragraph)
    assert (len(table.rows), table.more) == (MOST_MEMBERS, 800)
    assert set(cells(table, "Status")) == {"failed"}
    _, _, others = words_of(rest.texts).rstrip(".").partition(": ")
    named = {*cells(table, "Instance"), *others.split(", ")}
    assert named == {f"S2[{number}]" for number in lost}


def test_the_timeline_has_one_line_for_many_members_and_lines_for_few() -> None:
    made, _ = lanes(spread_view())
    assert [(lane.step.id, lane.members) for lane in made] == [
        ("S1", 0),
        ("S2", 20),
        ("S3r1", 0),
        ("S3r2", 0),
        ("S4.S1", 0),
        ("S4.S2", 0),
        ("S6", 0),
    ]
    shared = made[1].turns[0]
    assert {span.kind for span in shared.spans} == {"work", "fail"}
    assert "20 members in 20 attempts" in shared.title
    assert "S2 ×20 Reader" in timeline_svg(spread_view())


def test_the_timeline_of_a_terminal_is_as_short() -> None:
    states = [step.state for step in spread_view(1000).steps]
    assert [bar.step for bar in bars(states)][:4] == ["S1", "S2", "S3r1", "S3r2"]
    assert "S2 ×1000 Reader" in timeline(states, 100)[1]


def test_costs_of_members_are_their_steps() -> None:
    view = spread_view()
    spent = {each.name: each.usage.tokens for each in by_step(view)}
    assert sum(spent.values()) == view.cost.tokens
    own = sum(step.state.tokens for step in view.steps if step.parent == "S2")
    assert spent["S2 Reader"] == own


def test_a_document_has_pages_of_members_as_long_as_there_is_room() -> None:
    few, many = spread_view(40), spread_view(1000)
    names = {page.name for page in pages_of(few)}
    assert "S2[40]" in names
    chosen = step_page_names([step.state for step in many.steps])
    assert chosen == {"S1", "S2", "S3", "S4", "S5", "S6", "S2[3]", "S2[9]"}


def test_members_within_members_are_counted_with_their_step() -> None:
    view = spread_view(3, ())
    steps = [
        replace(s, state=s.state.model_copy(update={"parent": "S2[1]", "id": "S2[1].S1"}))
        if s.id == "S2[3]"
        else s
        for s in view.steps
    ]
    top = {step.id: step for step in folded(steps)}
    assert top["S2"].members is not None
    assert tally_words(top["S2"].members) == "2 of 2 instances done"
    assert len(top["S2"].state.attempts) == 3


@pytest.mark.parametrize(
    ("names", "written"),
    [
        ((), ""),
        (("S2[1]", "S2[2]"), "S2[1], S2[2]"),
        (("S2[9]", "S2[10]", "S2[11]", "S2[3]"), "S2[3], S2[9] to S2[11]"),
        (("S2[1].S1", "S2[2].S1"), "S2[1].S1, S2[2].S1"),
        (("S2r1", "S2r2", "S2r3", "S3r4"), "S2r1 to S2r3, S3r4"),
        (("odd", "S1"), "odd, S1"),
    ],
)
def test_ids_that_follow_one_another_are_written_briefly(
    names: tuple[str, ...], written: str
) -> None:
    assert ranges(names) == written


@st.composite
def trees(draw: st.DrawFn) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Steps of a plan with members, in a run's order, and what each needs."""
    upstream: dict[str, tuple[str, ...]] = {}
    parents: dict[str, str] = {}
    for number in range(1, draw(st.integers(1, 5)) + 1):
        own = f"S{number}"
        earlier = [f"S{n}" for n in range(1, number)]
        needed: set[str] = draw(st.sets(st.sampled_from(earlier))) if earlier else set()
        upstream[own] = tuple(sorted(needed))
        for index in range(1, draw(st.integers(0, 3)) + 1):
            upstream[f"{own}[{index}]"] = ()
            parents[f"{own}[{index}]"] = own
    return upstream, parents


@given(trees())
def test_each_step_stands_after_those_that_it_needs(
    tree: tuple[dict[str, tuple[str, ...]], dict[str, str]],
) -> None:
    upstream, parents = tree
    found = needs_within(upstream, parents)
    assert found.keys() == upstream.keys()
    before: set[str] = set()
    for name, needs in found.items():
        assert before.issuperset(needs)
        before.add(name)


@given(trees())
def test_what_needs_a_step_needs_its_members(
    tree: tuple[dict[str, tuple[str, ...]], dict[str, str]],
) -> None:
    upstream, parents = tree
    found = needs_within(upstream, parents)
    seconds: dict[str, float] = {name: 0.0 if name in parents.values() else 1.0 for name in found}
    path = critical_path(seconds, found)
    longest: dict[str, float] = {}
    for name in found:
        longest[name] = seconds[name] + max((longest[each] for each in found[name]), default=0.0)
    assert sum(seconds[name] for name in path) == max(longest.values())


def test_an_instance_that_follows_another_waits_for_that_one_alone() -> None:
    upstream = {"S1": (), "S1[1]": (), "S1[2]": (), "S2": ("S1",), "S2[1]": ("S1[1]",)}
    upstream |= {"S2[1.1]": (), "S2[2]": ("S1[2]",)}
    parents = {"S1[1]": "S1", "S1[2]": "S1", "S2[1]": "S2", "S2[1.1]": "S2[1]", "S2[2]": "S2"}
    found = needs_within(upstream, parents)
    assert found["S2[1.1]"] == ("S1[1]",)
    assert found["S2[2]"] == ("S1[2]",)


def test_pages_of_a_run_say_nothing_of_members_that_are_not_there() -> None:
    view: Any = spread_view(0, ())
    assert "Instances" not in [section.title for section in page_of(view, "S2").sections]
