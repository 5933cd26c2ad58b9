"""What is stored of instances, rounds and inner steps: taken over by what they are asked for.

An item may have another number in another list, and so its instance another id. What is stored
under an id counts for a member only if both are asked for the same. Before ids get another meaning
all that is finished is set aside under the hash of what it was asked for, where it is found again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress

from ..data_types import Frozen
from ..errors import RunDamagedError
from ..plan.ids import is_within
from ..plan.items import Item
from ..store.protocol import RunStore
from ..store.step import StepState
from .stored_plan import finished_step

__all__ = [
    "StoredItems",
    "StoredMember",
    "members_stored",
    "restore_members",
    "set_members_aside",
    "states_stored",
    "take_items",
]

_logger = logging.getLogger("prefect_swarm.runs")


class StoredItems(Frozen):
    """The items that a step is done for; `note` says which were left out.

    `basis` is a hash of what they were found in. Where that has changed they are looked for again.
    A step that follows another one has the items of that one.
    """

    step: str
    basis: str = ""
    items: tuple[Item, ...] = ()
    note: str = ""


class StoredMember(Frozen):
    """A finished member that was set aside, with its whole output."""

    state: StepState
    output: str


def restore_members(run: RunStore, records: Mapping[str, StepState]) -> frozenset[str]:
    """Give members what is stored of those that are asked for the same; return their ids."""
    restored: set[str] = set()
    for name, record in records.items():
        if record.step.is_group:
            # Its members are restored, and it by them.
            continue
        if (found := _stored(run, record)) is None:
            continue
        record.restore(*found)
        restored.add(name)
    return frozenset(restored)


def _stored(run: RunStore, record: StepState) -> tuple[StepState, str] | None:
    found = _finished(run, record.id)
    if found is not None and found[0].asked == record.asked:
        return found
    if found is not None:
        _set_aside(run, record.id)
    try:
        kept = run.record("member", StoredMember, record.asked)
    except RunDamagedError as error:
        _logger.warning("%s The step is done anew.", error.problem)
        return None
    if kept is None:
        return None
    reference = run.write_output(record.id, kept.output)
    state = kept.state.model_copy(update={"id": record.id, "output_ref": reference})
    run.save_step(state)
    return state, kept.output


def set_members_aside(run: RunStore, step: str) -> None:
    """Keep what is finished of a step's members by what it was asked for, and free their ids.

    Killed in the middle of it, a run goes on with it: what is set aside is kept before it goes.
    """
    for name in members_stored(run, step):
        _set_aside(run, name)


def take_items(source: RunStore, run: RunStore, within: str = "") -> None:
    """Let a run know which items another one's instances are for.

    Args:
        source: The other run.
        run: The one that is to know.
        within: The step whose items it takes; "" for all.
    """
    for found in source.records("expansion", StoredItems, lambda items: items.step):
        if not within or found.step == within or is_within(found.step, within):
            run.write_record("expansion", found, found.step)


def members_stored(run: RunStore, step: str) -> Iterator[str]:
    """Yield the ids of all that is stored within a step, a round or an instance."""
    names = dict.fromkeys((*(state.id for state in states_stored(run)), *run.finished_steps()))
    return (name for name in names if is_within(name, step))


def states_stored(run: RunStore) -> tuple[StepState, ...]:
    """Return the steps that a run has; of one whose files are damaged, those that can be read."""
    with suppress(RunDamagedError):
        return run.steps()
    found = (_finished(run, name) for name in run.finished_steps())
    return tuple(each[0] for each in found if each is not None)


def _set_aside(run: RunStore, name: str) -> None:
    if (found := _finished(run, name)) is not None and found[0].asked:
        state, output = found
        run.write_record("member", StoredMember(state=state, output=output), state.asked)
    run.forget_step(name)


def _finished(run: RunStore, name: str) -> tuple[StepState, str] | None:
    with suppress(RunDamagedError):
        return finished_step(run, name)
    return None
