"""Passwords, keys and tokens in web addresses: found, and masked. Pure."""

from __future__ import annotations

import re
from urllib.parse import unquote

__all__ = ["ELSEWHERE", "MASK", "masked_urls", "secret_in", "secrets_of", "without_secrets"]

MASK = "…masked…"
ELSEWHERE = "\0"
"""Stands in an address for a secret that isn't in it, such as a variable's value."""
_URL = re.compile(
    r"""(?:[A-Za-z][A-Za-z0-9+.-]{0,20}:(?:\\?/)|https?:)(?:\\?/)[^\s"'<>`]+"""
    r"""|(?<=@)[^\s"'<>`@/:]{1,200}:[^\s"'<>`@/]{1,200}@[^\s"'<>`]+"""
)
"""An address in a text. JSON may write `\\/`. Without `https://`, a password stands behind the `@`
of a model's name. A path takes `https://` for `https:/`."""
_CLOSING = ")]}.,;!\\"
# Looked for where its characters begin alone: from each of them, time would grow with the square.
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])[0-9+.-]*+[A-Za-z][A-Za-z0-9+.-]*+:(?:\\?/){1,2}")
_PARTS = re.compile(r"(?P<authority>(?:[^/?#\\]|\\(?!/))*)(?P<rest>.*)", re.DOTALL)
_UNQUOTED_PASSWORD = re.compile(r"[^@\[]*:(?!\d*$)[^@]*$")
"""What stands before the first slash where a password has one itself: `user:pa`."""
_FIELD = re.compile(
    r"(?P<before>[?&;#])(?P<name>[\w.%~+\[\]$-]{1,80})=(?P<value>[^&;#]*)", re.ASCII
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMES = frozenset(
    {"apikey", "auth", "authorization", "bearer", "code", "cred", "credential", "credentials"}
    | {"jwt", "key", "pass", "passphrase", "passwd", "password", "pat", "pw", "pwd", "sas"}
    | {"secret", "session", "sessionid", "sig", "signature", "token"}
)
_ENDS = ("apikey", "authkey", "accesskey", "secretkey", "password", "secret", "token")
"""Of names that are written as one word, in lower case."""
_DEEPEST = 4
"""Addresses within one another that are read: what has more counts as a secret."""
_HARMLESS = frozenset({"", "true", "false", "none", "null", "0", "1", "yes", "no"})


def secret_in(url: str) -> str:
    """Say what secret a web address has, in words that don't repeat it; "" for none."""
    return _secret_in(url, _DEEPEST)


def _secret_in(url: str, deepest: int) -> str:
    authority, rest = _split(url)
    user, at, _ = _plain(authority).rpartition("@")
    if at and ELSEWHERE not in (user.partition(":")[2] or user):
        return "a user or password before the @"
    if ELSEWHERE not in authority and _UNQUOTED_PASSWORD.match(_plain(authority)):
        return "a password, or a port that is not a number"
    for field in _FIELD.finditer(rest):
        if _is_secret(field, deepest):
            return f"a key or password behind {_plain(field['name'])}="
    return ""


def secrets_of(text: str) -> tuple[str, ...]:
    """Return the secrets of the addresses in a text, as they stand there and decoded."""
    found: list[str] = []
    for url in _URL.finditer(text):
        authority, rest = _split(url[0])
        user, at, _ = authority.rpartition("@")
        if at:
            _, colon, password = user.partition(":")
            found += [user, password] if colon else [user]
        found += [field["value"] for field in _FIELD.finditer(rest) if _is_secret(field)]
    return tuple(dict.fromkeys(form for each in found for form in (each, _plain(each)) if form))


def masked_urls(text: str) -> str:
    """Return a text with the secrets of its addresses masked; all else stays as it is."""
    # Found fast, and most texts have none.
    if "@" not in text and ":/" not in text and ":\\/" not in text:
        return text
    return _URL.sub(_masked_url, text)


def _masked_url(found: re.Match[str]) -> str:
    # What closes a bracket, a sentence or a text of JSON isn't the address's.
    url = found[0].rstrip(_CLOSING)
    return f"{without_secrets(url)}{found[0][len(url) :]}"


def without_secrets(url: str) -> str:
    """Return one address with its secrets masked."""
    scheme = found[0] if (found := _SCHEME.match(url)) else ""
    authority, rest = _split(url)
    if "@" in authority:
        authority = f"{MASK}@{authority.rpartition('@')[2]}"
    elif "@" in _plain(authority):
        authority = MASK
    elif _UNQUOTED_PASSWORD.match(_plain(authority)) and "@" in rest:
        authority, rest = f"{MASK}@", rest.rpartition("@")[2]
    return f"{scheme}{authority}{_FIELD.sub(_masked, rest)}"


def _split(url: str) -> tuple[str, str]:
    """Return who and where, and what follows: path, query and fragment."""
    parts = _PARTS.match(_SCHEME.sub("", url, count=1))
    return (parts["authority"], parts["rest"]) if parts else ("", "")


def _masked(field: re.Match[str]) -> str:
    return f"{field['before']}{field['name']}={MASK}" if _is_secret(field) else field[0]


def _is_secret(field: re.Match[str], deepest: int = _DEEPEST) -> bool:
    value = _plain(field["value"])
    if (at := value.find("://")) >= 0 and (
        deepest == 0 or _secret_in(value[max(0, at - 1) :], deepest - 1)
    ):
        return True
    name = _plain(field["name"])
    words = {word.lower() for word in _WORD.findall(name)}
    is_named = bool(words & _NAMES) or name.lower().endswith(_ENDS)
    return is_named and value.lower() not in _HARMLESS and ELSEWHERE not in value


def _plain(text: str) -> str:
    """Return a part of an address without percent signs, however often it was quoted."""
    for _ in range(3):
        # What stands for a secret elsewhere is written by us alone: no address has it quoted.
        parts = [unquote(part).replace(ELSEWHERE, "") for part in text.split(ELSEWHERE)]
        text, before = ELSEWHERE.join(parts), text
        if text == before:
            break
    return text
