"""A persona's success over time as a drawing: whole XML, and the same in words."""

from __future__ import annotations

from datetime import UTC
from xml.etree import ElementTree

from prefect_swarm.report.memory_pages import Expectation, Period
from prefect_swarm.report.svg.costs import record_says, record_svg

FOUND = [
    Period(0.0, 4, 1, Expectation(0.5, 0.2, 0.8)),
    Period(60.0, 4, 4, Expectation(0.75, 0.5, 1.0)),
]


def test_each_period_is_a_mark_with_its_words() -> None:
    drawing = ElementTree.fromstring(record_svg(FOUND, zone=UTC))
    titles = [each.text for each in drawing.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == [
        "1970-01-01 00:00: 50% expected, surely 20% to 80%; 1 of 4 succeeded",
        "1970-01-01 00:01: 75% expected, surely 50% to 100%; 4 of 4 succeeded",
    ]
    assert drawing.get("aria-label") == record_says(FOUND)


def test_what_it_shows_is_said_in_words() -> None:
    assert "went from 50% to 75%" in record_says(FOUND)


def test_without_periods_there_is_no_drawing() -> None:
    assert record_svg([]) == ""
