"""A prompt goes where the most of it is already computed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.api import GenerateRequest
from prefect_swarm.models.llama.slots import (
    WORTH_COPYING,
    ActiveRequest,
    Slot,
    admission_order,
    common_prefix,
    parts_to_read,
    place,
    should_wait,
)

LONG = list(range(100))


def occupy(slot: Slot, prompt: list[int]) -> Slot:
    nothing: Any = None
    slot.run = ActiveRequest(nothing, prompt, 0, nothing, nothing, 0.0)
    return slot


def test_a_free_slot_with_the_same_beginning_is_taken_over() -> None:
    slots = [Slot(0), Slot(1, LONG[:50]), Slot(2, [7])]
    placement = place(slots, LONG, reuse=True)
    assert (placement.slot, placement.keep, placement.source) == (slots[1], 50, None)


def test_a_busy_slots_beginning_is_copied() -> None:
    slots = [occupy(Slot(0, LONG[:60]), LONG), Slot(1, [1, 2, 3]), Slot(2)]
    placement = place(slots, LONG, reuse=True)
    assert (placement.slot, placement.keep, placement.source) == (slots[2], 60, slots[0])


def test_a_short_common_beginning_is_not_worth_a_copy() -> None:
    slots = [occupy(Slot(0, LONG[: WORTH_COPYING - 1]), LONG), Slot(1)]
    placement = place(slots, LONG, reuse=True)
    assert (placement.slot, placement.keep, placement.source) == (slots[1], 0, None)


def test_the_end_of_a_prompt_is_always_computed() -> None:
    slots = [Slot(0, LONG)]
    assert place(slots, LONG, reuse=True).keep == len(LONG) - 2


def test_a_one_token_prompt_keeps_nothing() -> None:
    assert place([Slot(0, [5])], [5], reuse=True).keep == 0


def test_a_model_that_cannot_rewind_reuses_nothing() -> None:
    slots = [Slot(0, LONG), occupy(Slot(1, LONG), LONG)]
    placement = place(slots, LONG, reuse=False)
    assert (placement.keep, placement.source) == (0, None)


def test_the_emptiest_slot_is_taken_when_nothing_is_shared() -> None:
    slots = [Slot(0, [9, 9]), Slot(1, [8])]
    assert place(slots, LONG, reuse=True).slot is slots[1]


def test_a_prompt_waits_for_a_neighbour_that_is_computing_the_same_beginning() -> None:
    assert should_wait([occupy(Slot(0), LONG), Slot(1)], LONG)


def test_a_prompt_does_not_wait_for_what_is_there_already() -> None:
    assert not should_wait([occupy(Slot(0, LONG), LONG), Slot(1)], LONG)


def test_a_prompt_does_not_wait_for_a_stranger() -> None:
    assert not should_wait([occupy(Slot(0), list(range(500, 600))), Slot(1)], LONG)


@given(left=st.lists(st.integers(1, 300), min_size=1, max_size=8), room=st.integers(2, 200))
def test_prompts_are_read_in_their_order_and_none_keeps_a_lone_last_token(
    left: list[int], room: int
) -> None:
    parts = parts_to_read(left, room)
    assert sum(parts) <= room
    assert parts[0] >= 1
    assert all(0 <= part <= tokens for part, tokens in zip(parts, left, strict=True))
    begun = [(part, tokens) for part, tokens in zip(parts, left, strict=True) if part]
    assert all(tokens - part != 1 for part, tokens in begun)


@given(st.lists(st.integers(0, 2), max_size=40), st.lists(st.integers(0, 2), max_size=40))
def test_the_common_beginning_is_where_two_prompts_first_differ(
    held: list[int], wanted: list[int]
) -> None:
    length = common_prefix(held, wanted)
    assert held[:length] == wanted[:length]
    assert held[length : length + 1] != wanted[length : length + 1] or length == len(wanted)


def test_the_longest_remaining_path_starts_first_then_the_nearest_deadline_then_the_eldest() -> (
    None
):
    waiting = {
        "old": (GenerateRequest(prompt="x"), 1.0),
        "older": (GenerateRequest(prompt="x"), 0.0),
        "hurried": (GenerateRequest(prompt="x", deadline=9.0), 2.0),
        "long path": (GenerateRequest(prompt="x", priority=3.0), 5.0),
    }
    order = sorted(waiting, key=lambda name: admission_order(*waiting[name]))
    assert order == ["long path", "hurried", "older", "old"]
