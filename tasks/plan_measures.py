"""How objectives and steps say lengths, amounts and their limits, as parts of patterns."""

from __future__ import annotations

__all__ = ["LIMIT", "LIMIT_OF_LENGTH", "NUMBER", "ROUGHLY", "UNIT"]

NUMBER = (
    r"(?:\d+(?:[.,]\d+)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen"
    r"|twenty|thirty|forty|fifty|sixty|eighty|an? hundred|a single|half a)"
)
UNIT = r"words?|sentences?|lines?|pages?|paragraphs?|characters?|minutes?|slides?|bullet points?"
LIMIT = r"at most|at least|no more than|not more than|fewer than|less than"
LIMIT_OF_LENGTH = r"up to|under|below"
"""Of a length these are limits; `under two trees` and `scale it up to 60 slices` have none."""
ROUGHLY = r"about|around|exactly|over"
