"""Which line of a batch is which, whenever it is started and wherever the line stands. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable

from ..options import SwarmOptions

__all__ = ["line_keys"]

_NO_MATTER = frozenset(
    {
        "key_env",
        "max_concurrency",
        "max_tokens",
        "max_usd",
        "timeout_s",
        "step_timeout_s",
        "max_attempts",
        "gate_concurrency",
        "stream_text",
        "stream_plan",
        "pages",
        "approve",
        "start_over",
    }
)
"""Options that bound a run or show it: what is completed under others is completed."""


def line_keys(lines: Iterable[str], options: SwarmOptions, inputs: str = "") -> list[str]:
    """Return a key for each line: of what it says, what it is given, and how often it was there.

    Args:
        lines: JSON; what is none has a key too.
        options: The batch's.
        inputs: A digest of what every line is given besides.
    """
    common = options.model_dump(mode="json", exclude={*_NO_MATTER})
    base = json.dumps([common, inputs], sort_keys=True)
    seen = Counter[str]()
    keys: list[str] = []
    for line in lines:
        digest = hashlib.sha256(f"{base}\n{_normal(line)}".encode()).hexdigest()[:16]
        seen[digest] += 1
        keys.append(f"{digest}-{seen[digest]}" if seen[digest] > 1 else digest)
    return keys


def _normal(line: str) -> str:
    """Write a line as every other that says the same."""
    try:
        return json.dumps(json.loads(line), sort_keys=True)
    except (ValueError, RecursionError):
        return line.strip().encode("utf-8", "replace").decode()
