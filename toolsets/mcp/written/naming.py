"""Names of servers as files have them, and the names by which plans can call them. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ...names import short_hash

__all__ = ["slugs"]

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")
_SLUG = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LONGEST = 40
"""Characters of a slug: there is room for a tool's name behind it, within 64."""


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Return a distinct slug for each name: letters, digits, `_` and `-`, a letter first.

    A name that is one keeps it. Of others whose slugs are equal each gets a hash of its name, so
    that no slug depends on the order of the names.
    """
    names = tuple(dict.fromkeys(names))
    plain = {name: _slug(name) for name in names}
    wanted = [*plain.values()]
    return {
        name: slug if slug == name or wanted.count(slug) == 1 else _hashed(slug, name)
        for name, slug in plain.items()
    }


def _slug(name: str) -> str:
    if _SLUG.fullmatch(name) and len(name) <= 64:
        return name
    plain = unicodedata.normalize("NFKD", name)
    letters = "".join(each for each in plain if not unicodedata.combining(each))
    slug = _FOREIGN.sub("_", letters).strip("_-")
    if not slug:
        return f"server-{short_hash(name)}"
    if not slug[0].isalpha():
        slug = f"server-{slug}"
    if len(slug) > _LONGEST or any(ord(each) > 127 and each.isalnum() for each in letters):
        # Letters are left out, by which others may differ.
        return _hashed(slug, name)
    return slug


def _hashed(slug: str, name: str) -> str:
    return f"{slug[: _LONGEST - 7]}-{short_hash(name)}"
