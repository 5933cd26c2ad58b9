"""The layout of Python texts as files, so that they find each other by their imports. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..base import Diagnostic
from .inspection import Facts

__all__ = [
    "FileBlock",
    "FileBlocks",
    "Layout",
    "Piece",
    "Placed",
    "file_blocks",
    "lay_out",
    "path_problem",
]


_TOOLS = frozenset({"pytest", "_pytest", "hypothesis"})
_NEVER_OURS = sys.stdlib_module_names | _TOOLS | {"__main__"}
_DEFAULT = "solution"


@dataclass(frozen=True, slots=True)
class Piece:
    """A Python text that takes part.

    `path` is the one it was given, if any; `before` is the line of the whole artifact that
    is just before its first one.
    """

    name: str
    text: str
    facts: Facts
    own: bool = False
    path: str | None = None
    before: int = 0


@dataclass(frozen=True, slots=True)
class Placed:
    """A piece as a file. Behind line `head` stand `added` lines that its author didn't write."""

    piece: Piece
    path: str
    module: str
    text: str
    head: int = 0
    added: int = 0

    def line(self, line: int) -> int | None:
        """Return the line of the whole artifact that a line of the file is."""
        if self.head < line <= self.head + self.added:
            return None
        return line - (self.added if line > self.head else 0) + self.piece.before


@dataclass(frozen=True, slots=True)
class Layout:
    """All files.

    Attributes:
        placed: The pieces in their order.
        glue: Further modules by path, which only pass names on.
        roots: Folders that modules are looked for in; "" is the top.
        links: Pairs of positions: the first piece uses what the second defines.
        missing: The modules that a piece wants and no piece provides, by its position.
    """

    placed: tuple[Placed, ...]
    glue: Mapping[str, str]
    roots: tuple[str, ...]
    links: frozenset[tuple[int, int]]
    missing: Mapping[int, tuple[str, ...]]

    def texts(self) -> dict[str, str]:
        """Every file's text by its path."""
        return {**self.glue, **{placed.path: placed.text for placed in self.placed}}


@dataclass(slots=True)
class _Wanted:
    """The modules that pieces import: which pieces stand behind each, and for which names."""

    modules: dict[str, dict[int, set[str]]] = field(default_factory=dict[str, dict[int, set[str]]])
    roots: dict[str, None] = field(default_factory=lambda: {"": None})
    links: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    missing: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])


def lay_out(pieces: Sequence[Piece], installed: frozenset[str] = frozenset()) -> Layout:
    """Give every piece a file.

    A piece becomes the module that others import its names from; the artifact's own is `solution`
    if no other piece imports it. A module of several pieces passes their names on, and so does a
    module whose piece has another name already. Tests that use a name without importing it get a
    line that does.

    Args:
        installed: Top-level modules that are there anyway.
    """
    wanted = _wants(pieces, installed)
    homes = _homes(pieces, wanted)
    placed = [_place(pieces, at, homes, wanted) for at in range(len(pieces))]
    glue = dict(_glue(wanted, homes, {file.path for file in placed}))
    links, missing = frozenset(wanted.links), wanted.missing
    return Layout(tuple(placed), glue, tuple(wanted.roots), links, missing)


def _wants(pieces: Sequence[Piece], installed: frozenset[str]) -> _Wanted:
    wanted = _Wanted()
    for at, piece in enumerate(pieces):
        for module, names in piece.facts.imports:
            top = module.partition(".")[0]
            if top in _NEVER_OURS:
                continue
            if (found := _by_path(pieces, module)) is not None:
                wanted.roots[found[0]] = None
                wanted.links.add((at, found[1]))
                continue
            behind = _providers(pieces, at, names)
            if not behind and top not in installed:
                behind = _only_other(pieces, at)
            for other, used in behind.items():
                known = wanted.modules.setdefault(module, {})
                known.setdefault(other, set()).update(used)
            if not behind and top not in installed:
                wanted.missing[at] = (*wanted.missing.get(at, ()), module)
            wanted.links.update((at, other) for other in behind)
        wanted.links.update((at, other) for other in _providers(pieces, at, _lent(piece)))
    for module, behind in wanted.modules.items():
        # A guessed provider is dropped if another piece defines the names that are wanted.
        named = {at: names for at, names in behind.items() if names}
        wanted.modules[module] = named or dict([next(iter(behind.items()))])
    return wanted


def _by_path(pieces: Sequence[Piece], module: str) -> tuple[str, int] | None:
    """Return the folder that a module would be found from, and the piece it is or lies in."""
    tail = module.replace(".", "/")
    for ending in (f"{tail}.py", f"{tail}/__init__.py"):
        for at, piece in enumerate(pieces):
            if piece.path is not None and f"/{piece.path}".endswith(f"/{ending}"):
                return piece.path.removesuffix(ending).rstrip("/"), at
    for at, piece in enumerate(pieces):
        before, found, _ = f"/{piece.path or ''}".partition(f"/{tail}/")
        if found:
            return before.strip("/"), at
    return None


def _providers(pieces: Sequence[Piece], asker: int, names: frozenset[str]) -> dict[int, set[str]]:
    """Find the piece of each name: code before tests, the artifact first, late before early."""

    def rank(at: int) -> tuple[bool, bool, int]:
        return _is_tests(pieces[at]), not pieces[at].own, -at

    order = sorted((at for at in range(len(pieces)) if at != asker), key=rank)
    found: dict[int, set[str]] = {}
    for name in sorted(names):
        for at in order:
            if name in pieces[at].facts.lines:
                found.setdefault(at, set()).add(name)
                break
    return found


def _only_other(pieces: Sequence[Piece], asker: int) -> dict[int, set[str]]:
    """Find the only piece that tests can mean by a module that has none of the names they want."""
    if not pieces[asker].facts.tests:
        return {}
    code = [at for at, piece in enumerate(pieces) if at != asker and not _is_tests(piece)]
    own = [at for at in code if pieces[at].own]
    return {at: set() for at in (own or code)} if len(own or code) == 1 else {}


def _is_tests(piece: Piece) -> bool:
    return bool(piece.facts.tests) and not piece.facts.code


def _lent(piece: Piece) -> frozenset[str]:
    """Return the names that a piece may use without importing them: only tests may."""
    return piece.facts.free if piece.facts.tests else frozenset()


def _homes(pieces: Sequence[Piece], wanted: _Wanted) -> dict[int, str]:
    """Give every piece its module's name."""
    homes = {at: _module_at(piece.path, wanted) for at, piece in enumerate(pieces) if piece.path}
    for module, behind in wanted.modules.items():
        if len(behind) == 1 and (at := next(iter(behind))) not in homes:
            homes[at] = module
    taken = set(wanted.modules) | set(homes.values()) | _NEVER_OURS
    for at, piece in enumerate(pieces):
        if at not in homes:
            homes[at] = _fresh(piece, taken)
            taken.add(homes[at])
    return homes


def _module_at(path: str, wanted: _Wanted) -> str:
    below = (root for root in wanted.roots if root and path.startswith(f"{root}/"))
    root = max(below, key=len, default="")
    stem = path.removeprefix(f"{root}/").removesuffix(".py").removesuffix("/__init__")
    return stem.replace("/", ".")


def _fresh(piece: Piece, taken: set[str]) -> str:
    word = re.sub(r"\W+", "_", piece.name.lower()).strip("_")
    stem = _DEFAULT if piece.own else word if word.isidentifier() else f"m_{word}".rstrip("_")
    if _is_tests(piece):
        stem = f"test_{stem}"
    candidates = (stem if n == 1 else f"{stem}_{n}" for n in range(1, len(taken) + 3))
    return next(name for name in candidates if name not in taken)


def _place(pieces: Sequence[Piece], at: int, homes: Mapping[int, str], wanted: _Wanted) -> Placed:
    piece = pieces[at]
    path = piece.path or _path_of(homes[at], {*homes.values(), *wanted.modules})
    lent = _providers(pieces, at, _lent(piece))
    added = [_passing_on(homes[other], names) for other, names in lent.items()]
    if not added:
        return Placed(piece, path, homes[at], piece.text)
    head = piece.facts.head
    lines = piece.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    text = "\n".join([*lines[:head], *added, *lines[head:]])
    return Placed(piece, path, homes[at], text, head, len(added))


def _glue(wanted: _Wanted, homes: Mapping[int, str], taken: set[str]) -> Iterator[tuple[str, str]]:
    modules = {*homes.values(), *wanted.modules}
    for module, behind in wanted.modules.items():
        path = _path_of(module, modules)
        if path in taken:
            continue
        if len(behind) == 1:
            home = homes[next(iter(behind))]
            yield (
                path,
                f"import sys\nimport {home}\nsys.modules[__name__] = sys.modules[{home!r}]\n",
            )
        else:
            yield (
                path,
                "".join(f"{_passing_on(homes[at], names)}\n" for at, names in behind.items()),
            )


def _path_of(module: str, modules: set[str]) -> str:
    is_package = any(other.startswith(f"{module}.") for other in modules)
    return module.replace(".", "/") + ("/__init__.py" if is_package else ".py")


def _passing_on(module: str, names: set[str]) -> str:
    return f"from {module} import {', '.join(sorted(names))}"


_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_LABEL = re.compile(
    r"^(?:[#>*+-]+\s+|\d+[.)]\s+)?(?:(?:file(?:name)?|path)\s*:\s*)?", re.IGNORECASE
)
_BARE = frozenset({"Makefile", "Dockerfile", "LICENSE", "Procfile", "Justfile"})
_PART = re.compile(r"[\w.@+-]{1,100}")
_MARKS = "*`\"' "
_DEEPEST, _LONGEST = 12, 200


class FileBlock(NamedTuple):
    """A file: its text, and the line of the whole text that is just before its first one."""

    path: str
    text: str
    before: int


@dataclass(frozen=True, slots=True)
class FileBlocks:
    """The files that a text holds, and what is wrong with the rest of it."""

    files: tuple[FileBlock, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


class _Block(NamedTuple):
    language: str
    above: str
    line: int
    body: Sequence[str]
    closed: bool


def file_blocks(text: str) -> FileBlocks:
    """Take the files out of a text.

    A block without a path is an illustration, unless it holds Python. The path may stand in
    backquotes, in bold, in a heading or behind `File:`, and an empty line may follow it.
    """
    files: dict[str, FileBlock] = {}
    problems: list[Diagnostic] = []
    for block in _blocks(text.replace("\r\n", "\n").split("\n")):
        path = _path(block.above)
        problem = _problem(block, path, files)
        if problem:
            problems.append(Diagnostic(message=problem, line=block.line))
        elif path is not None:
            body = "".join(f"{line}\n" for line in block.body)
            files[path] = FileBlock(path, body, block.line)
    if not files and not problems:
        problems.append(Diagnostic(message="there is no file in it: no block with a path above it"))
    return FileBlocks(tuple(files.values()), tuple(problems))


def path_problem(path: str) -> str:
    """Say why a path can't be a file's below a folder; nothing if it can."""
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path) or "\\" in path:
        return "is not relative, with / between its parts"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has a part that is empty, '.' or '..'"
    if len(parts) > _DEEPEST or len(path) > _LONGEST:
        return "is too long"
    if not all(_PART.fullmatch(part) for part in parts):
        return "has other characters than letters, digits and ._@+-"
    return ""


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        fence = opening["fence"]
        end = at + 1
        while end < len(lines) and not _closes(lines[end], fence):
            end += 1
        language = opening["info"].strip().partition(" ")[0].lower()
        above = next((line for line in reversed(lines[max(0, at - 2) : at]) if line.strip()), "")
        yield _Block(language, above, at + 1, lines[at + 1 : end], end < len(lines))
        at = end + 1


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _path(above: str) -> str | None:
    """Return the path that a line names, if that is all it does."""
    label = _LABEL.match(above.strip())
    rest = above.strip()[label.end() if label else 0 :]
    words = rest.strip(_MARKS).removesuffix(":").strip(_MARKS)
    if not words or any(sign.isspace() for sign in words) or words.endswith((".", "/")):
        return None
    named = "/" in words or "\\" in words or "." in words or words in _BARE
    return words if named else None


def _problem(block: _Block, path: str | None, files: dict[str, FileBlock]) -> str:
    if path is None:
        python = block.language in ("python", "py", "python3")
        return "this block of Python has no path on the line before it" if python else ""
    if why := path_problem(path):
        return f"the path {path[:_LONGEST]!r} {why}"
    if path in files:
        return f"the file {path} is there twice"
    if any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in files):
        return f"{path} would have to be both a file and a folder"
    return "" if block.closed else f"the block of {path} has no end"
