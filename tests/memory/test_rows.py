"""Rows of a graph from episodes."""

from __future__ import annotations

from typing import Any

from dict_log import episode
from graph_story import LINT, STORY, SYMPTOM, entries
from prefect_swarm.memory.graph_rows import MitigationTally, node_id, rows_of, symptom_text


def test_an_action_that_ended_a_step_mitigates_nothing() -> None:
    rows, _ = rows_of(entries([episode(**LINT), episode(attempt=2, cause="SKIP", **LINT)]))
    assert rows.tallies == {}


def test_a_failure_of_which_nothing_was_said_has_its_category_for_a_symptom() -> None:
    silent: dict[str, Any] = {**LINT, "error": ""}
    assert symptom_text(episode(**silent)) == "CODE lint"


def test_tallies_are_of_one_symptom_and_one_mitigation() -> None:
    rows, _ = rows_of(entries(STORY[:3]))
    symptom = node_id("default", SYMPTOM)
    assert rows.tallies == {
        (symptom, node_id("default", "RETRY", "")): MitigationTally(1, 0, 1),
        (symptom, node_id("default", "ESCALATE", "coder")): MitigationTally(1, 1, 0, 3),
    }
