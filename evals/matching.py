"""Patterns without a match in a text. Runs in a process of its own: a pattern may take forever.

It knows nothing of this package: patterns and a text come in, and patterns go out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable


def unmatched(patterns: Iterable[str], text: str) -> list[str]:
    """Return the patterns that a text has no match of."""
    return [pattern for pattern in patterns if not re.search(pattern, text)]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(unmatched(*json.load(sys.stdin))))
