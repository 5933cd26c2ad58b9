"""Which steps each step could not begin before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..store.step import StepState

__all__ = ["needs_of_records"]


def needs_of_records(records: Iterable[StepState]) -> dict[str, tuple[str, ...]]:
    """Return which steps each step could not begin before, by its id.

    What needs a step with members needs them; a member needs what its step waited for.
    """
    known = {record.id: record for record in records}

    def ends_of(name: str) -> Iterator[str]:
        record = known.get(name)
        if record is None or not record.members:
            yield name
        else:
            for member in record.members:
                yield from ends_of(member)

    def needs(record: StepState) -> Iterator[str]:
        for name in (*record.step.upstream, *record.step.waits_for):
            yield from ends_of(name)
        if record.parent in known:
            yield from needs(known[record.parent])

    return {name: tuple(dict.fromkeys(needs(record))) for name, record in known.items()}
