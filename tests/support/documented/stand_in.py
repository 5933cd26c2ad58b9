"""Answers of the server that stands in for every model of a page. Pure."""

from __future__ import annotations

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
_PRICES = '{"train": 17, "bus": 8}'
_TOO_FEW = '{"train": 17}'


def answer(asked: Asked) -> Reply:
    """Answer as a capable model would; the first figures that are asked for lack one."""
    if asked.is_plan:
        return Reply(tool_args=_PLAN)
    if "Write the prices as JSON" in asked.prompt:
        return Reply(_PRICES if "required property" in "".join(asked.texts) else _TOO_FEW)
    if "What nobody can do" in asked.prompt:
        return Reply("{}")
    last = asked.prompt.splitlines()[-1]
    return Reply(f"A note of some words on this: {last[:80]} It is short, and it ends here.")


@dataclass
class Answering:
    """The server's answers, which a test may change."""

    reply: Callable[[Asked], Reply] = answer

    def __call__(self, asked: Asked) -> Reply:
        return self.reply(asked)
