"""The temporary server ends when nothing is left to write, or when nothing moves any more."""

from __future__ import annotations

from collections.abc import Sequence

from prefect_swarm.flows.prefect_io.temporary_server import LONGEST_S, STUCK_S, until_quiet

LOOK_S = 0.1


def ended_at(left: Sequence[int]) -> float:
    """At what time it may end, if at each look so much is left; the last figure stays."""
    now = 0.0

    def look() -> int:
        return left[min(round(now / LOOK_S), len(left) - 1)]

    def wait() -> None:
        nonlocal now
        now += LOOK_S

    until_quiet(look, lambda: now, wait)
    return round(now, 6)


def test_it_ends_soon_where_nothing_is_left() -> None:
    assert ended_at([0]) <= 0.5


def test_it_waits_while_less_and_less_is_left() -> None:
    busy = [*range(200, 0, -1)]
    assert ended_at([*busy, 0]) > len(busy) * LOOK_S


def test_a_moment_without_work_is_not_the_end() -> None:
    assert ended_at([5, 0, 0, 5, 4, 3, 2, 1, 0]) > 8 * LOOK_S


def test_what_never_moves_is_given_up() -> None:
    assert STUCK_S <= ended_at([3]) <= STUCK_S + 2 * LOOK_S


def test_what_always_moves_is_not_waited_for_without_end() -> None:
    assert ended_at([1, 2] * 10_000) <= LONGEST_S + 2 * LOOK_S
