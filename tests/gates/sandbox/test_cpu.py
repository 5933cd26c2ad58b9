"""The time of all processes that ever were, from looks at those that are."""

from __future__ import annotations

from random import Random

import pytest
from prefect_swarm.gates.sandbox.launcher.watch import CpuTime, Times

TICK = 0.02


def test_what_a_parent_has_waited_for_counts_once() -> None:
    cpu = CpuTime()
    cpu.look({1: Times(0.1, 0.0, False), 2: Times(3.0, 0.0, True)}, TICK)
    assert cpu.look({1: Times(0.1, 3.01, False)}, TICK) == pytest.approx(3.11)


def test_what_is_gone_and_in_no_parents_sum_still_counts() -> None:
    cpu = CpuTime()
    cpu.look({1: Times(0.1, 0.0, False), 2: Times(3.0, 1.0, True)}, TICK)
    assert cpu.look({1: Times(0.1, 0.0, False)}, TICK) == pytest.approx(4.1, abs=TICK)
    assert cpu.look({1: Times(0.2, 0.0, False)}, TICK) == pytest.approx(4.2, abs=TICK)


def test_what_slept_at_its_last_look_is_not_taken_to_have_computed_since() -> None:
    cpu = CpuTime()
    cpu.look({2: Times(0.5, 0.0, False)}, TICK)
    assert cpu.look({}, 100.0) == 0.5


@pytest.mark.parametrize("lifetime", [0.001, 0.005, 0.015, 0.03, 0.1])
@pytest.mark.parametrize("collected", [False, True])
def test_processes_of_any_lifetime_count_about_as_they_are(
    lifetime: float, collected: bool
) -> None:
    """Processes compute one after another for ten seconds, waited for or not."""
    cpu, now, total = CpuTime(), 0.0, 0.0
    random = Random(7)  # noqa: S311
    while now < 10:
        elapsed = random.uniform(0.012, 0.028)
        now += elapsed
        ended, age = divmod(now, lifetime)
        waited = ended * lifetime if collected else 0.0
        seen: dict[object, Times] = {
            "parent": Times(0.0, waited, False),
            ended: Times(age, 0.0, True),
        }
        total = cpu.look(seen, elapsed)
    assert total == pytest.approx(10, rel=0.15)
