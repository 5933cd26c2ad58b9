"""A result shows itself in a notebook, with its run's folder or without."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import pytest
from flow_runs import plan_of, run
from prefect_swarm import SwarmResult, report_html
from prefect_swarm.errors import RunNotFoundError
from prefect_swarm.store.folder import RunFolder
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")
SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "ri", "so", "tu")
# As a text that says something does, it never repeats itself.
LONG = " ".join(map("".join, product(SYLLABLES, repeat=3)))


@pytest.fixture
def result() -> SwarmResult:
    steps = (
        {"id": "S1", "prompt": "Find out."},
        {"id": "S2", "prompt": "Write.", "depends_on": ["S1"]},
    )
    with scripted(Script(lambda prompt: LONG if "Find" in prompt else "# The end\n\nIt **is**.")):
        return run(plan_of(*steps))


def test_a_result_shows_itself_in_a_notebook(result: SwarmResult) -> None:
    shown = result._repr_html_()
    assert shown.startswith('<div class="ps-report">')
    assert "<strong>is</strong>" in shown
    assert shown.count(LONG) >= 1


def test_without_its_folder_a_result_shows_what_it_has(result: SwarmResult) -> None:
    shutil.rmtree(RunFolder.of(result.flow_run_id).folder)
    shown = result._repr_html_()
    assert LONG not in shown
    assert LONG[:200] in shown
    assert "<strong>is</strong>" in shown


def test_a_damaged_folder_keeps_no_result_from_being_shown(result: SwarmResult) -> None:
    RunFolder.of(result.flow_run_id).write("plan.json", "{")
    assert "<strong>is</strong>" in result._repr_html_()


def test_a_run_can_be_written_as_a_document_by_its_id(result: SwarmResult, tmp_path: Path) -> None:
    document = report_html(result.run_id)
    assert document.startswith("<!DOCTYPE html>")
    assert document == report_html(result)


def test_a_run_that_is_not_stored_is_an_error() -> None:
    with pytest.raises(RunNotFoundError):
        report_html("nothere")
