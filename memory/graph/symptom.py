"""A failure's message without what differs each time: the same mistake gives the same text."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["SYMPTOM_CHARS", "symptom_of"]

SYMPTOM_CHARS = 240
_READ = 8000
"""Characters of a message that are read; gates put the most important findings first."""

# Hexadecimal and decimal figures, with what holds their digits together.
_NUMBER = r"0x[0-9a-fA-F]+|\d+(?:[.,:_]\d+)*"
_FILE = r"[\w-]{1,100}\.(?:py|pyi|sh|json|ya?ml|toml|txt|md|csv|html?|js|ts|ini|cfg|log|pdf|xml)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\x1b\[[0-9;]*[A-Za-z]", ""),
        (r"```.*?(?:```|\Z)", "'…'"),
        # A quote opens after what is not a word and closes before such, or is cut off at the end;
        # an apostrophe does neither.
        (r"(?<!\w)'(?:[^'\\…]|\\.?|'(?=\w))*+(?:'(?!\w)|…'?|\Z)", "'…'"),
        (r'"(?:[^"\\…]|\\.?)*+(?:"|…"?|\Z)', "'…'"),
        (r"`[^`]*(?:`|\Z)", "'…'"),
        (r"[“„][^”]*(?:”|\Z)", "'…'"),
        (r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b", "<id>"),
        (r"\bhttps?://[^\s,;)]+", "<url>"),
        (r"\$(?:\.[\w-]+|\[[^\]]{0,100}\])+", "<path>"),
        (r"(?<![\w<])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]*)*", "<path>"),
        (rf"(?<![\w.-])(?:[\w.-]{{1,100}}/){{0,30}}{_FILE}\b", "<path>"),
        # A call with what it was called with; `split()` names a function and stays.
        (r"(?<![\w.])[A-Za-z_][\w.]*\((?=[^()\s])[^()]*\)", "<call>"),
        # S1 is a step; S101, a rule of a linter's, has three digits and stays.
        (r"\bS[1-9]\d?\b", "<step>"),
        (rf"(?<![A-Za-z_\d])(?:{_NUMBER})", "#"),
        (r"[-+](?=#)", ""),
        (r"(?:'…'|#)(?:(?:, | and | or )(?:'…'|#))+", "'…'"),
        (r"\s+", " "),
    )
)


def symptom_of(error: str, names: Collection[str] = ()) -> str:
    """Normalise a failure's message; "" for an empty message.

    Quoted texts, paths, calls, numbers, step ids and the given names are replaced; findings
    are sorted, and equal ones counted once.

    Args:
        error: The message, such as an attempt's `error`.
        names: Other texts that are replaced: the attempt's model and persona.

    Returns:
        At most `SYMPTOM_CHARS` characters on one line.
    """
    text = error[:_READ]
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "<name>", text)
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    gate = re.match(r"gate [\w-]+: ", text)
    head = gate[0] if gate else ""
    parts = (part.strip(" .") for part in text[len(head) :].split("; "))
    return (head + "; ".join(sorted(set(filter(None, parts)))))[:SYMPTOM_CHARS].strip()
