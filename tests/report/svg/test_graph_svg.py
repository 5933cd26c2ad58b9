"""The graph of a run shows each step, its status by more than colour, and what needs what."""

from __future__ import annotations

import time
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.report.page import TurnView
from prefect_swarm.report.svg.graph import MOST_BOXES, alike, graph_svg, lay_out, without_shortcuts
from prefect_swarm.report.svg.theme import SIGNS
from report_views import HOSTILE, busy_view, large_view, step, view_of_steps

SVG = "{http://www.w3.org/2000/svg}"


def steps_in(drawing: str) -> dict[str, ElementTree.Element]:
    found = ElementTree.fromstring(drawing).iter(f"{SVG}g")
    return {each.attrib["data-step"]: each for each in found if "data-step" in each.attrib}


def arrows_in(drawing: str) -> list[str]:
    found = ElementTree.fromstring(drawing).iter(f"{SVG}path")
    return [each.attrib["class"] for each in found if "ps-edge" in each.attrib.get("class", "")]


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    count = draw(st.integers(1, 14))
    earlier = [
        st.sets(st.integers(0, n - 1), max_size=4) if n else st.just(set()) for n in range(count)
    ]
    return {f"S{n}": tuple(f"S{m}" for m in sorted(draw(found))) for n, found in enumerate(earlier)}


def test_each_step_is_drawn_with_its_status() -> None:
    view = busy_view()
    drawn = steps_in(graph_svg(view))
    assert {name: each.attrib["data-status"] for name, each in drawn.items()} == {
        step.id: step.status for step in view.steps
    }


@pytest.mark.parametrize("status", sorted(SIGNS))
def test_a_status_has_a_sign_and_a_word(status: str) -> None:
    drawn = steps_in(graph_svg(view_of_steps(step("S1", "Reader", status=status))))["S1"]
    text = " ".join(each.text or "" for each in drawn.iter(f"{SVG}text"))
    assert status in text
    assert [p.attrib["d"] for p in drawn.iter(f"{SVG}path")] == [SIGNS[status]]


def test_the_critical_path_is_thick() -> None:
    thick = [line for line in arrows_in(graph_svg(busy_view())) if "ps-critical" in line]
    assert len(thick) == 2


def test_a_step_says_why_it_stands_as_it_does() -> None:
    title = steps_in(graph_svg(busy_view()))["S7"].findtext(f"{SVG}title")
    assert title is not None
    assert "S6, which it needs, failed" in title


def test_steps_that_are_alike_are_a_grid() -> None:
    fan = [step(f"S{n}", "Reader", upstream="S1") for n in range(2, 60)]
    view = view_of_steps(step("S1", "Scout"), *fan)
    drawn = graph_svg(view)
    assert "58 side by side · Reader" in drawn
    assert len(arrows_in(drawn)) == 1
    assert len(steps_in(drawn)) == 59


def test_three_hundred_steps_are_drawn_within_a_second_of_computing() -> None:
    view = large_view()
    begun = time.process_time()
    drawn = graph_svg(view)
    assert time.process_time() - begun < 1
    assert len(steps_in(drawn)) == 300


def test_a_graph_that_is_too_large_is_not_drawn() -> None:
    pairs = [step(f"S{n}", "Reader", upstream=f"S{n - 1}") for n in range(1, MOST_BOXES + 2)]
    assert graph_svg(view_of_steps(*pairs)) == ""


def test_a_run_without_steps_has_no_graph() -> None:
    assert graph_svg(view_of_steps()) == ""


def test_what_a_model_wrote_is_text() -> None:
    drawn = graph_svg(view_of_steps(step("S1", HOSTILE, prompt=HOSTILE, why=HOSTILE)))
    root = ElementTree.fromstring(drawn)
    assert {each.tag for each in root.iter()}.isdisjoint({f"{SVG}script", f"{SVG}img"})
    assert "&lt;script" in drawn


def test_a_drawing_for_a_light_page_has_no_other_colours() -> None:
    assert "prefers-color-scheme" in graph_svg(busy_view())
    assert "prefers-color-scheme" not in graph_svg(busy_view(), "light")


def test_steps_are_links_only_where_the_document_has_their_places() -> None:
    assert "<a " not in graph_svg(busy_view())
    assert 'href="#page-S1"' in graph_svg(busy_view(), anchor="page-")


@given(graphs())
def test_boxes_do_not_overlap_and_arrows_lead_to_the_right(
    upstream: dict[str, tuple[str, ...]],
) -> None:
    arrows = [(start, end) for end, starts in upstream.items() for start in starts]
    layout = lay_out(dict.fromkeys(upstream, (100.0, 30.0)), arrows)
    boxes = [*layout.boxes.values()]
    for number, box in enumerate(boxes):
        assert box.x >= -0.01
        assert box.y >= -0.01
        assert box.x + box.width <= layout.width + 0.01
        assert box.y + box.height <= layout.height + 0.01
        for other in boxes[:number]:
            apart_x = abs(box.x - other.x) >= box.width
            assert apart_x or abs(box.y - other.y) >= box.height
    assert set(layout.arrows) == set(arrows)
    for (start, end), points in layout.arrows.items():
        assert layout.boxes[start].x < layout.boxes[end].x
        assert len(points) >= 2


@given(graphs())
def test_a_step_is_in_the_only_group_that_needs_the_same(
    upstream: dict[str, tuple[str, ...]],
) -> None:
    groups = alike(upstream, 2)
    assert sorted(name for group in groups for name in group) == sorted(upstream)
    for group in groups:
        assert len({frozenset(upstream[name]) for name in group}) == 1


def reached(upstream: dict[str, tuple[str, ...]], step: str) -> set[str]:
    return set(upstream[step]).union(*(reached(upstream, name) for name in upstream[step]))


@given(graphs())
def test_without_shortcuts_the_same_stands_behind_each_step(
    upstream: dict[str, tuple[str, ...]],
) -> None:
    fewer = without_shortcuts(upstream)
    assert all(reached(fewer, name) == reached(upstream, name) for name in upstream)


def test_steps_of_later_turns_say_so_and_those_of_the_plan_do_not() -> None:
    view = replace(busy_view(), turns=(TurnView(number=2, steps=("S4", "S5")),))
    drawn = steps_in(graph_svg(view))
    labelled = {
        name
        for name, each in drawn.items()
        if "turn 2" in [text.text for text in each.iter(f"{SVG}text")]
    }
    assert labelled == {"S4", "S5"}
    assert "It was assigned in turn 2." in (drawn["S4"].findtext(f"{SVG}title") or "")
    assert "turn" not in graph_svg(busy_view())


def test_a_grid_of_steps_that_a_later_turn_assigned_is_labelled_once() -> None:
    spread = [step(f"S{number}", "Reader", upstream="S1") for number in range(2, 9)]
    view = view_of_steps(step("S1", "Scout"), *spread)
    turn = TurnView(number=3, steps=tuple(each.id for each in spread))
    drawing = graph_svg(replace(view, turns=(turn,)))
    assert drawing.count("turn 3 · 7 side by") == 1
    cards = steps_in(drawing).values()
    assert not any(text.text == "turn 3" for each in cards for text in each.iter(f"{SVG}text"))
