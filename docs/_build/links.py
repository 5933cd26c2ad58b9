"""A hook of MkDocs: files outside docs/ that pages link to become part of the site.

Pages can be read as plain Markdown in the repository, where their links lead to benches, examples
and code as well. In the site such a file lies below `repo/`; a Markdown file is a page there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

__all__ = ["on_files", "on_page_markdown"]

_ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")
_OUTSIDE = "repo/"


def on_files(files: Files, config: Any) -> Files:
    """Add what pages link to outside docs/, and what these link to in turn."""
    waiting = [(f"docs/{file.src_uri}", file) for file in files.documentation_pages()]
    while waiting:
        where, page = waiting.pop()
        for target in _targets(where, page.content_string):
            uri = _uri(target)
            if target.startswith("docs/") or files.get_file_from_path(uri):
                continue
            added = File.generated(config, uri, abs_src_path=str(_ROOT / target))
            added.inclusion = InclusionLevel.NOT_IN_NAV
            files.append(added)
            if target.endswith(".md"):
                waiting.append((target, added))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Have the links of a page lead to where their targets are in the site."""
    where = _in_repository(page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        target = _target(where, found[2])
        if target is None:
            return found[0]
        return f"{found[1]}{posixpath.relpath(_uri(target), here or '.')}{found[3]}"

    return _LINK.sub(link, markdown)


def _targets(where: str, text: str) -> Iterator[str]:
    for found in _LINK.finditer(text):
        if target := _target(where, found[2]):
            yield target


def _target(where: str, link: str) -> str | None:
    """Return the file of the repository that a link leads to; of a folder, its README."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(where), link))
    if path.startswith("..") or link.startswith("/"):
        return None
    if (_ROOT / path).is_dir():
        path = f"{path}/README.md"
    return path if (_ROOT / path).is_file() else None


def _uri(target: str) -> str:
    """Return where a file of the repository is in the site."""
    return target.removeprefix("docs/") if target.startswith("docs/") else f"{_OUTSIDE}{target}"


def _in_repository(uri: str) -> str:
    return uri.removeprefix(_OUTSIDE) if uri.startswith(_OUTSIDE) else f"docs/{uri}"
