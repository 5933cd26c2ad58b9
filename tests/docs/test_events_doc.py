"""docs/reference/events.md lists every kind of event with its own fields."""

from __future__ import annotations

import re
from typing import get_args

from docs_pages import rows, sections
from prefect_swarm.store import events
from prefect_swarm.store.events import OtherEvent, RunEvent

_WORD = re.compile(r"\w+")


def kinds() -> dict[str, set[str]]:
    """The fields of each kind of event, without those that all have."""
    found: dict[str, set[str]] = {}
    for name in events.__all__:
        kind = getattr(events, name)
        if name.endswith("Event") and kind not in (RunEvent, OtherEvent):
            own = set(kind.model_fields) - set(RunEvent.model_fields)
            found |= dict.fromkeys(get_args(kind.model_fields["kind"].annotation), own)
    return found


def test_the_table_has_each_kind_with_its_fields() -> None:
    listed: dict[str, set[str]] = {}
    for names, _, fields in rows(sections("events.md")["The events"]):
        listed |= {key: set(_WORD.findall(fields)) for key in _WORD.findall(names)}
    assert set(listed) == set(kinds())
    assert {kind: own - listed[kind] for kind, own in kinds().items() if own - listed[kind]} == {}
