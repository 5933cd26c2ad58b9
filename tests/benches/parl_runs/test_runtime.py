"""What frozen readers come to is what the whole runtime comes to."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from parl_runs.frozen import FrozenReader, SearchRuns
from parl_runs.prompts import Style, draw_questions, plan_in_lines
from parl_runs.runtime import run_whole
from wide_search.corpus import Corpus
from wide_search.flaws import ORACLE
from wide_search.virtual_time import VirtualClock, run_in_virtual_time
from wide_search.world import make_world

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

WORLD = make_world(7)
CORPUS = Corpus(WORLD.pages)
QUESTION = next(each for each in draw_questions(WORLD, 7, 20) if each.shape == "deep")


@pytest.mark.parametrize("style", ["serial", "parallel"])
def test_a_plan_that_is_run_as_a_flow_has_the_same_terms(style: Style) -> None:
    text = plan_in_lines(QUESTION.text, style, Random(1))  # noqa: S311
    frozen = SearchRuns(QUESTION, FrozenReader(CORPUS, ORACLE))(text)
    clock = VirtualClock()
    whole = run_in_virtual_time(clock, lambda: run_whole(QUESTION, text, CORPUS, ORACLE, clock))
    # The given plan takes no request of the orchestrator's.
    assert whole == replace(frozen, critical_steps=frozen.critical_steps - 1, width=0, seconds=0.0)
