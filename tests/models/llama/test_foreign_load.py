"""Foreign load is what the cores computed, without what this process did."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from prefect_swarm.models.llama.threads import ForeignLoad, busy_seconds, read_busy_seconds

STAT = """\
cpu  900 90 90 9000 9 9 9 0 0 0
cpu0 100 50 20 1000 7 3 2 8 0 0
cpu1 300 0 40 1000 0 0 0 0 0 0
cpu10 700 0 0 1000 0 0 0 0 0 0
intr 12345
"""


def load(samples: Iterable[tuple[float, float | None, float]]) -> list[float | None]:
    """What is measured at each time, of the seconds that all and this process have computed."""
    found: list[float | None] = []
    now: dict[str, float | None] = {}
    measure = ForeignLoad(lambda: now["busy"], lambda: now["own"] or 0.0, lambda: now["at"] or 0.0)
    for at, busy, own in samples:
        now.update(at=at, busy=busy, own=own)
        found.append(measure.cores())
    return found


@pytest.mark.parametrize(("cores", "ticks"), [({0}, 175), ({1}, 340), ({0, 1}, 515), (set(), 0)])
def test_only_cores_that_may_be_used_count(cores: set[int], ticks: int) -> None:
    assert busy_seconds(STAT, cores) * 100 == pytest.approx(ticks)


def test_what_this_process_computed_is_not_foreign() -> None:
    assert load([(0, 100, 10), (1, 101.5, 10.5)]) == [None, 1.0]


def test_it_looks_at_most_twice_a_second() -> None:
    assert load([(0, 100, 0), (0.5, 100.5, 0), (0.7, 190, 0), (1.0, 101, 0)]) == [None, 1, 1, 1]


def test_old_samples_are_forgotten() -> None:
    assert load([(0, 100, 0), (60, 160, 0), (61, 160, 0)]) == [None, None, 0]


def test_less_than_nothing_is_nothing() -> None:
    assert load([(0, 100, 10), (1, 100, 10.01)]) == [None, 0]


def test_where_the_system_does_not_say_it_is_not_known() -> None:
    assert load([(0, None, 0), (1, None, 1)]) == [None, None]


def test_the_systems_figure_never_falls() -> None:
    first = read_busy_seconds()
    if first is None:
        pytest.skip("this system doesn't say")
    assert first <= (read_busy_seconds() or 0.0)
