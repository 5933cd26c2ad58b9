"""Tests that a patch moves to another file, and modules of the product that it renames. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...workspace.names import is_test
from .additions import is_loose
from .file_parts import FilePart, FileParts, read_parts

__all__ = ["Moves"]

_PYTHON = (".py", ".pyi")
_ROOTS = ("src/", "lib/")
_NOT_SEARCHED = frozenset({"build", "dist", "node_modules", "venv", "_darcs", "CVS", "{arch}"})
"""Folders in which pytest looks for no tests."""
_NOTHING = FileParts()


@dataclass(frozen=True)
class Moves:
    """What a patch moves: `before` is what files had, `after` what the changed ones have."""

    before: Mapping[str, bytes]
    after: Mapping[str, bytes | None]

    def has_moved(self, path: str, name: str, parts: FileParts) -> bool:
        """Whether what a name stood for in a file is in another one, and means the same there."""
        return any(
            name not in old.names
            and _is_found_as_well(path, other)
            and _means_the_same(name, parts, new)
            and _loose(parts) == _loose(new)
            for other, (old, new) in self._files.items()
            if other != path and name in new.names
        )

    def is_renamed(self, old: Sequence[FilePart], new: Sequence[FilePart]) -> bool:
        """Whether a name is imported from the same module of the product under its new name."""
        if len(old) != 1 or len(new) != 1:
            return False
        ours, theirs = _sources(old[0].node), _sources(new[0].node)
        return any(
            one in self._gone and other in self._made and what == thing
            for (one, what), (other, thing) in zip(ours, theirs, strict=False)
        )

    @cached_property
    def _files(self) -> Mapping[str, tuple[FileParts, FileParts]]:
        """The changed files of tests: what they were, and what they are."""
        found: dict[str, tuple[FileParts, FileParts]] = {}
        for path, data in self.after.items():
            if data is None or not path.endswith(_PYTHON) or not is_test(path):
                continue
            old = read_parts(self.before.get(path, b""))
            new = read_parts(data)
            if not isinstance(old, str) and not isinstance(new, str):
                found[path] = old, new
        return found

    @cached_property
    def _gone(self) -> frozenset[str]:
        return _modules(path for path, data in self.after.items() if data is None)

    @cached_property
    def _made(self) -> frozenset[str]:
        new = self.after.items()
        return _modules(path for path, data in new if data is not None and path not in self.before)


def _modules(paths: Iterable[str]) -> frozenset[str]:
    """Return the names of modules of the product."""
    found: set[str] = set()
    for path in paths:
        if path.endswith(".py") and not is_test(path):
            root = next((each for each in _ROOTS if path.startswith(each)), "")
            name = path.removeprefix(root).removesuffix(".py").removesuffix("/__init__")
            found.add(name.replace("/", "."))
    return frozenset(found)


def _sources(node: ast.stmt) -> list[tuple[str, str]]:
    """Return the modules that an import may be of, each with what it takes from it."""
    match node:
        case ast.ImportFrom(module=str(module), names=[alias], level=0):
            return [(module, alias.name), (f"{module}.{alias.name}", "")]
        case ast.Import(names=[ast.alias(name=name, asname=str())]):
            return [(name, "")]
        case _:
            return []


def _is_found_as_well(path: str, other: str) -> bool:
    """Whether pytest finds tests in the other file if it finds those in this one."""
    *folders, name = path.split("/")
    *others, file = other.split("/")
    if name == "conftest.py":
        return file == name and folders[: len(others)] == others
    is_below = folders[:1] == others[:1] or not folders
    new = {each for each in others if each in _NOT_SEARCHED or each.startswith(".")}
    return is_below and new <= {*folders} and (_is_collected(file) or not _is_collected(name))


def _is_collected(name: str) -> bool:
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def _loose(parts: FileParts) -> set[tuple[str, str]]:
    """Return what concerns all tests of a file."""
    named = {
        (name, part.form)
        for name, bound in parts.names.items()
        for part in bound
        if is_loose(name, part.node)
    }
    return named | {("", part.form) for part in parts.acts}


_Meaning = set[tuple[str, tuple[str, ...]]]


def _by_first_name(parts: FileParts) -> Mapping[str, _Meaning]:
    found: dict[str, _Meaning] = {}
    for name, bound in parts.names.items():
        forms = tuple(part.form for part in bound)
        found.setdefault(name.partition(".")[0], set()).add((name, forms))
    return found


def _means_the_same(name: str, ours: FileParts, theirs: FileParts) -> bool:
    """Whether a name stands for the same in both files, and all that it uses does too."""
    here, there = _by_first_name(ours), _by_first_name(theirs)
    pending, seen = [name], set[str]()
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        one, other = here.get(each, set()), there.get(each, set())
        # A file may import further modules of the same package.
        if not one <= other or any("." not in more for more, _ in other - one):
            return False
        if other and not one:
            return False
        for key, _ in one:
            pending += _used(ours.names[key])
    return True


def _used(parts: Iterable[FilePart]) -> set[str]:
    nodes = [node for part in parts for node in ast.walk(part.node)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.arg for node in nodes if isinstance(node, ast.arg)}
