"""What is left of a decision about a persona once episodes of its evidence are forgotten. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from ..episode import EpisodeKey
from ..log.rows import mentions

__all__ = ["without_keys", "without_text"]

_REMOVED = "(forgotten)"


def without_keys(evidence: str | None, keys: Collection[EpisodeKey]) -> str | None:
    """Return evidence, as JSON, without these episodes; the very text if it names none of them."""
    if not evidence:
        return evidence
    told: dict[str, Any] = json.loads(evidence)
    left = [key for key in told["episodes"] if EpisodeKey(*key) not in keys]
    if len(left) == len(told["episodes"]):
        return evidence
    return json.dumps({**told, "episodes": left}, ensure_ascii=False)


def without_text(reason: str, text: str | None) -> str:
    """Return a reason, or that it was forgotten if it has the text in any case."""
    return _REMOVED if text is not None and mentions(text, [reason]) else reason
