"""Whether a whole answer is a refusal in words. Pure."""

from __future__ import annotations

import re

__all__ = ["refuses"]

_LONGEST = 400
"""Characters of a text that may be nothing but a refusal; longer ones have something to say."""
_SORRY = r"(?:(?:i['’]m|i am) (?:very |really |so )?sorry|sorry|unfortunately|i apologi[sz]e)\b"
_CANNOT = (
    r"i(?:['’]m| am)? (?:can['’]?t|cannot|can not|won['’]?t|will not|(?:not )?unable to"
    r"|not able to|not comfortable|decline to|must decline|have to decline)\b"
)
_HELP = (
    r"(?:help|assist|comply|fulfil|provide|do that|answer|support|create|write|generate|engage"
    r"|discuss|continue|share|produce|request|with that|with this)"
)
_REFUSAL = re.compile(
    rf"\W*(?:{_SORRY}[^.!?\n]{{0,40}}?)?(?:as an ai[^.!?\n]{{0,60}}?)?"
    rf"{_CANNOT}[^.!?\n]{{0,60}}?{_HELP}",
    re.IGNORECASE,
)


def refuses(text: str) -> bool:
    """Say whether a text is a refusal and nothing else: it is short and begins as refusals do.

    Example:
        *I'm sorry, but I can't help with that.*
    """
    return len(text) <= _LONGEST and _REFUSAL.match(text) is not None
