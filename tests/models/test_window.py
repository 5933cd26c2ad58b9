"""Room at a provider: more by one, less by half."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.limiter import Window


def _succeed(window: Window, times: int) -> Window:
    return reduce(lambda so_far, _: so_far.after_success(), range(times), window)


def test_room_doubles_with_every_round_until_the_first_refusal() -> None:
    window = Window(limit=8)
    assert _succeed(window, window.room).room == 16


def test_after_a_refusal_a_round_of_successes_makes_room_for_one_more() -> None:
    window = Window(limit=16).after_refusal(1.0, 0.5, 16)
    assert window.room == 8
    assert 8 < _succeed(window, 8).limit <= 9
    assert _succeed(window, 9).room == 9


def test_a_refusal_halves_what_was_under_way_not_what_might_have_been() -> None:
    assert Window(limit=32).after_refusal(1.0, 0.5, 4).room == 2


def test_requests_of_the_same_burst_lower_it_once() -> None:
    window = Window(limit=16).after_refusal(1.0, 0.0, 16)
    assert window.after_refusal(1.1, 0.0, 15) == window
    assert window.after_refusal(3.0, 2.0, 8).room == 4


def test_a_block_is_never_shortened() -> None:
    assert Window().blocked(9.0).blocked(4.0).blocked_until == 9.0


@given(st.lists(st.one_of(st.none(), st.integers(1, 2000)), max_size=300))
def test_there_is_always_room_for_one_and_never_without_bound(events: list[int | None]) -> None:
    window = Window()
    for now, under_way in enumerate(events, 1):
        window = (
            window.after_success()
            if under_way is None
            else window.after_refusal(float(now), float(now), under_way)
        )
        assert 1 <= window.room <= 1024


def test_who_asks_for_more_at_once_gets_it_unless_some_was_refused() -> None:
    assert Window().opened(200).room == 200
    assert Window().opened(8).room == Window().room
    assert Window().opened(9000).room == 1024
    lowered = Window(limit=16).after_refusal(1.0, 0.5, 16)
    assert lowered.opened(200) == lowered
