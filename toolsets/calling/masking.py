"""Texts of tools as people are shown them: cut, and without secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ...host.url_secrets import MASK, masked_urls

__all__ = ["MASK", "mask", "mask_written", "secrets_in"]

_SHORTEST = 6
_KEYED = re.compile(
    r"""(?P<key>["']?[\w-]*(?:password|passwd|secret|token|api[_-]?key|authorization|credential)"""
    r"""[\w-]*["']?\s*[:=]\s*)(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|(?:bearer\s+|basic\s+)?[^\s,;}&]+)""",
    re.IGNORECASE,
)
# Found fast, where `_KEYED` would look at each word's beginning.
_KEYWORD = re.compile("password|passwd|secret|token|api|authorization|credential", re.IGNORECASE)
_KNOWN_FORMS = re.compile(
    r"\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+)|(?<=[Bb]earer )[\w.~+/=-]{8,}"
)
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:key|token|secret|password|passwd|pwd|credentials?|dsn)$"
    r"|(?:api|access|secret|private)_?key|token|secret|password|passwd|auth_string",
    re.IGNORECASE,
)
_OF_CODE = frozenset("()[]{}<>")


def mask(text: str, secrets: Collection[str] = ()) -> str:
    """Return a text without secrets.

    Args:
        secrets: Values that must not be shown, such as those of a server's environment; shorter
            ones than six characters are words that texts have anyway.

    What stands behind a key such as `password`, and what has the form of a well-known key, is
    masked as well.
    """
    text = masked_urls(_without(secrets, text))
    text = _KEYED.sub(lambda found: f"{found['key']}{_quoted(found['value'])}", text)
    return _KNOWN_FORMS.sub(MASK, text)


def _without(secrets: Collection[str], text: str) -> str:
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    return text


def _quoted(value: str) -> str:
    quote = value[0] if value[0] in "\"'" else ""
    return f"{quote}{MASK}{quote}"


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables whose names say that they are secrets."""
    return tuple(
        value
        for name, value in environment.items()
        if len(value) >= _SHORTEST and _SECRET_NAME.search(name)
    )


def mask_written(text: str, secrets: Collection[str] = ()) -> str:
    """Return what a person or a model wrote without secrets; code and prose stay readable.

    Other than in what tools give and get, `tokens = text.split()` and "tokens: many" are no
    secrets: behind a key, only what looks like a secret is masked.

    Args:
        secrets: Values that must not be shown, as for `mask`.
    """
    text = masked_urls(_without(secrets, text))
    if _KEYWORD.search(text):
        text = _KEYED.sub(_masked_value, text)
    return _KNOWN_FORMS.sub(MASK, text)


def _masked_value(found: re.Match[str]) -> str:
    value = found["value"]
    bare = value.strip("\"'")
    is_secret = (
        len(bare) >= _SHORTEST
        and not bare.isdigit()
        and not _OF_CODE & set(bare)
        and (any(map(str.isdigit, bare)) or (value != bare and " " not in bare))
    )
    return f"{found['key']}{_quoted(value)}" if is_secret else found[0]
