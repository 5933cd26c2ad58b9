"""Answers of the server that stands in for every model of a page."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from provider_server import Asked, Reply

__all__ = ["Answering", "answer"]

_PLAN: dict[str, Any] = {
    "create_subagent": [
        {"name": "Train Expert", "system_prompt": "You know trains."},
        {"name": "Bus Expert", "system_prompt": "You know buses."},
        {"name": "Editor", "system_prompt": "You join notes."},
    ],
    "assign_task": [
        {"agent": "Train Expert", "prompt": "Describe trains."},
        {"agent": "Bus Expert", "prompt": "Describe buses."},
        {"agent": "Editor", "prompt": "Join both notes.", "depends_on": [1, 2]},
    ],
}
_LEDGER: dict[str, Any] = {
    "create_subagent": [
        {"name": "Archivist", "system_prompt": "You search ledgers."},
        {"name": "Surveyor", "system_prompt": "You count cranes."},
    ],
    "assign_task": [
        {"agent": "Archivist", "prompt": "Name the harbours that the ledger has."},
        {"agent": "Surveyor", "prompt": "Explain what counts as a crane."},
    ],
    "look_after": [1],
}
_HARBOURS = ("Rotterdam", "Antwerp", "Hamburg")
_TURN: dict[str, Any] = {
    "assign_task": [
        {"agent": "Surveyor", "prompt": f"Count the cranes of {name}.", "depends_on": [2]}
        for name in _HARBOURS
    ]
}
_TURN_ASKED = threading.Event()
"""Set once the second turn is asked for: one step of the first goes on until then."""
_PRICES = '{"train": 17, "bus": 8}'
_TOO_FEW = '{"train": 17}'


def answer(asked: Asked) -> Reply:
    """Answer as a capable model would; the first figures that are asked for lack one."""
    if asked.is_plan:
        _TURN_ASKED.clear()
        return Reply(tool_args=_LEDGER if "ledger" in asked.prompt else _PLAN)
    if turn := re.search(r"^Turn (\d+)\.", asked.prompt, re.MULTILINE):
        _TURN_ASKED.set()
        return Reply(json.dumps(_TURN) if turn[1] == "2" else "Hamburg has the most.")
    if "Write the prices as JSON" in asked.prompt:
        return Reply(_PRICES if "required property" in "".join(asked.texts) else _TOO_FEW)
    if "What nobody can do" in asked.prompt:
        return Reply("{}")
    last = asked.prompt.splitlines()[-1]
    note = f"A note of some words on this: {last[:80]} It is short, and it ends here."
    return Reply(note, hold=_TURN_ASKED if "what counts as a crane" in last else None)


@dataclass
class Answering:
    """The server's answers, which a test may change."""

    reply: Callable[[Asked], Reply] = answer

    def __call__(self, asked: Asked) -> Reply:
        return self.reply(asked)
