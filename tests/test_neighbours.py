"""What computes is counted for as long as it does."""

from __future__ import annotations

import os

import pytest
from prefect_swarm.openmp import announced, computing


def test_neighbours_add_up_and_end_with_their_work() -> None:
    before = announced()
    with computing(), computing(2):
        assert announced() == before + 3
    assert announced() == before


def test_a_neighbour_that_fails_has_ended_too() -> None:
    before = announced()
    with pytest.raises(OSError, match="full"), computing():
        raise OSError("full")
    assert announced() == before


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_no_neighbours_yet() -> None:
    with computing():
        child = os.fork()
        if child == 0:
            os._exit(40 + announced())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 40
