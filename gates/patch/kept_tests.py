"""The tests of a project that a patch changes, skips, deletes or weakens, each by its name. Pure.

Statements are compared, not texts: layout and comments don't count. What became of what was there
is judged by `differences`, what may be added by `additions`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...workspace.names import is_test, is_within
from ..base import Diagnostic
from ..python.inspection import Function, is_fixture
from .additions import (
    Addition,
    Surroundings,
    addition_problem,
    imported_names,
    requested_names,
)
from .configuration import (
    configuration_problem,
    hidden_module,
    hook_problem,
    is_check_configuration,
)
from .differences import difference, header_difference, is_test_class
from .file_parts import FilePart, FileParts, parts_of, read_parts, read_source
from .moves import Moves
from .product_code import product_problems
from .reach import reach_problem

__all__ = ["is_check_configuration", "weakened_tests"]

_PYTHON = (".py", ".pyi")
_CONFTEST = "conftest.py"
_NOTHING = FileParts()


def weakened_tests(
    before: Mapping[str, bytes], after: Mapping[str, bytes | None], may_change: Sequence[str] = ()
) -> tuple[Diagnostic, ...]:
    """Return what a patch does to tests that were there, and to how they are run.

    Args:
        before: The base's tests and configuration of checks, all of them, and whatever else the
            patch changes.
        after: What the files that the patch changes have after it; None for one that is gone.
        may_change: Patterns of paths of which nothing is said.
    """
    changed = [
        path
        for path, data in sorted(after.items())
        if before.get(path) != data and not is_within(path, may_change)
    ]
    patch = _Patch(before, after)
    found = [each for path in changed for each in patch.of_file(path)]
    product = [path for path in changed if _is_product(path)]
    problems = product_problems(
        {path: before.get(path) for path in product}, {path: after[path] for path in product}
    )
    found += [_said(path, problem) for path, problem in problems]
    return tuple(dict.fromkeys(found))


def _is_product(path: str) -> bool:
    return path.endswith(".py") and not is_test(path) and not is_check_configuration(path)


def _said(path: str, problem: str, node: ast.AST | None = None) -> Diagnostic:
    return Diagnostic(message=f"{path}: {problem}", line=getattr(node, "lineno", None))


@dataclass(frozen=True)
class _Patch:
    before: Mapping[str, bytes]
    after: Mapping[str, bytes | None]

    def of_file(self, path: str) -> list[Diagnostic]:
        """Return what is wrong with one changed file by itself."""
        try:
            return [*self._of_name(path), *self._of_content(path)]
        except RecursionError:
            return [_said(path, "can't be compared: it is nested too deeply to be read")]

    def _of_name(self, path: str) -> Iterator[Diagnostic]:
        is_new = path not in self.before
        if self.after[path] is None:
            return
        if problem := hook_problem(path, is_new=is_new):
            yield _said(path, problem)
        hidden = hidden_module(path, self._packages) if is_new else ""
        # Tests are read only where there is such a module.
        if hidden and hidden in self._modules:
            yield _said(path, f"it takes the place of {hidden}, which tests import")

    def _of_content(self, path: str) -> Iterator[Diagnostic]:
        old, new = self.before.get(path), self.after[path]
        is_conftest = path.rpartition("/")[2] == _CONFTEST
        if is_check_configuration(path) and not is_conftest:
            if problem := configuration_problem(path, old, new):
                yield _said(path, problem)
        elif path.endswith(_PYTHON) and is_test(path):
            yield from self._of_tests(path, old, new)
        elif is_test(path) and old is not None:
            yield _said(path, "a file of tests was " + ("deleted" if new is None else "changed"))

    def _of_tests(self, path: str, old: bytes | None, new: bytes | None) -> Iterator[Diagnostic]:
        ours = _NOTHING if old is None else read_parts(old)
        theirs = _NOTHING if new is None else read_parts(new)
        for read in (ours, theirs):
            if isinstance(read, str):
                yield _said(path, f"tests there can't be compared: {read}")
        if isinstance(ours, str) or isinstance(theirs, str):
            return
        if new is None:
            yield from self._of_gone(path, ours)
        else:
            place = self._place(path, ours, theirs, is_new=old is None)
            yield from self._of_parts(path, "", (ours, theirs), place)

    def _of_gone(self, path: str, parts: FileParts) -> Iterator[Diagnostic]:
        lost = [name for name in parts.names if not self._moves.has_moved(path, name, parts)]
        tests = [name for name in lost if _is_test_part(parts.names[name][-1].node)]
        for name in tests:
            yield _said(path, f"{name} was deleted, with its file")
        # What tests used has moved with them, or they would be named.
        had_tests = any(_is_test_part(bound[-1].node) for bound in parts.names.values())
        if (lost and not had_tests) or (parts.acts and not parts.names):
            yield _said(path, "a file of tests was deleted")

    def _place(
        self, path: str, ours: FileParts, theirs: FileParts, *, is_new: bool
    ) -> Surroundings:
        is_conftest = path.rpartition("/")[2] == _CONFTEST
        has_star = any(_is_star(part.node) for part in ours.acts)
        taken = {name.partition(".")[0] for name in ours.names}
        nodes = [part.node for bound in ours.names.values() for part in bound]
        return Surroundings(
            "conftest" if is_conftest else "new" if is_new else "file",
            frozenset(taken | (ours.mentioned if has_star else set())),
            self._requested if is_conftest else requested_names(nodes),
            imported_names(theirs),
            tests=frozenset(
                name
                for name, bound in ours.names.items()
                if any(map(_serves_tests, (part.node for part in bound)))
            ),
        )

    # --- parts ------------------------------------------------------------------------------------

    def _of_parts(
        self, path: str, within: str, parts: tuple[FileParts, FileParts], place: Surroundings
    ) -> Iterator[Diagnostic]:
        ours, theirs = parts
        for name, old in ours.names.items():
            new = theirs.names.get(name, ())
            if [part.form for part in old] != [part.form for part in new]:
                yield from self._of_name_in(path, within, name, parts, place)
        for name, new in theirs.names.items():
            if name not in ours.names:
                for part in new:
                    if problem := addition_problem(Addition(name, part), place):
                        yield _said(path, f"{within}{name} was added: {problem}", part.node)
        yield from self._of_acts(path, within, parts, place)

    def _of_name_in(
        self,
        path: str,
        within: str,
        name: str,
        parts: tuple[FileParts, FileParts],
        place: Surroundings,
    ) -> Iterator[Diagnostic]:
        ours, theirs = parts
        old, new = ours.names[name], theirs.names.get(name, ())
        if not new:
            if not within and self._moves.has_moved(path, name, ours):
                return
            if _is_left_out(name, ours, theirs):
                return
            yield _said(path, f"{within}{name} was deleted")
        elif (pair := _test_classes(old, new)) is not None:
            yield from self._of_class(path, f"{within}{name}::", pair, place)
        elif self._moves.is_renamed(old, new):
            return
        elif found := difference(
            old, new, may_grow=name in ours.case_lists and name in theirs.case_lists
        ):
            yield _said(path, f"{within}{name} was {found[0]}: {found[1]}", new[-1].node)
        elif problem := reach_problem(new[-1].node, place.taken, place.imported):
            yield _said(path, f"{within}{name} was changed: {problem}", new[-1].node)

    def _of_class(
        self,
        path: str,
        within: str,
        pair: tuple[ast.ClassDef, ast.ClassDef],
        place: Surroundings,
    ) -> Iterator[Diagnostic]:
        old, new = pair
        if found := header_difference(old, new):
            yield _said(path, f"{within[:-2]} was {found[0]}: {found[1]}", new)
        inner = Surroundings(
            "class",
            place.taken,
            place.requested,
            place.imported,
            self._members if old.bases else frozenset(),
            place.tests,
        )
        bodies = parts_of(old.body), parts_of(new.body)
        yield from self._of_parts(path, within, bodies, inner)

    def _of_acts(
        self, path: str, within: str, parts: tuple[FileParts, FileParts], place: Surroundings
    ) -> Iterator[Diagnostic]:
        ours, theirs = parts
        old = [part.form for part in ours.acts]
        new = [part.form for part in theirs.acts]
        for part in ours.acts:
            if old.count(part.form) > new.count(part.form):
                yield _said(path, f"{within}a statement that runs at load was deleted or changed")
        for part in theirs.acts:
            if new.count(part.form) <= old.count(part.form):
                continue
            lost = _deleted_names(part.node) & ours.names.keys()
            for name in sorted(lost):
                yield _said(path, f"{within}{name} was deleted by del", part.node)
            if not lost and (problem := addition_problem(Addition("", part), place)):
                yield _said(path, f"{within or 'the file'} was changed: {problem}", part.node)

    # --- the base's tests -------------------------------------------------------------------------

    @cached_property
    def _moves(self) -> Moves:
        return Moves(self.before, self.after)

    @cached_property
    def _trees(self) -> Sequence[ast.Module]:
        read = (
            read_source(data)
            for path, data in self.before.items()
            if is_test(path) and path.endswith(_PYTHON)
        )
        return [tree for tree in read if not isinstance(tree, str)]

    @cached_property
    def _requested(self) -> frozenset[str]:
        """The fixtures that are there, and those that tests ask for."""
        fixtures = {
            node.name
            for tree in self._trees
            for node in ast.walk(tree)
            if isinstance(node, Function) and node.decorator_list and node.name[:4] != "test"
        }
        return requested_names(self._trees) | fixtures

    @cached_property
    def _members(self) -> frozenset[str]:
        """The names that classes of tests have."""
        classes = (
            node
            for tree in self._trees
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
        )
        return frozenset(name for node in classes for name in parts_of(node.body).names)

    @cached_property
    def _modules(self) -> frozenset[str]:
        """The modules that tests import, by their first names."""
        found: set[str] = set()
        for node in (each for tree in self._trees for each in ast.walk(tree)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module.partition(".")[0])
        return frozenset(found)

    @cached_property
    def _packages(self) -> frozenset[str]:
        """The folders with an `__init__.py`."""
        paths = (*self.before, *(path for path, data in self.after.items() if data is not None))
        return frozenset(
            path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == "__init__.py"
        )


def _is_star(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _is_test_part(node: ast.stmt) -> bool:
    if isinstance(node, Function):
        return node.name.startswith("test")
    return is_test_class(node)


def _serves_tests(node: ast.stmt) -> bool:
    return _is_test_part(node) or (isinstance(node, Function) and is_fixture(node))


def _is_left_out(name: str, ours: FileParts, theirs: FileParts) -> bool:
    """Whether it is an import of what moved tests used, and nothing uses now."""
    first = name.partition(".")[0]
    is_import = all(isinstance(part.node, ast.Import | ast.ImportFrom) for part in ours.names[name])
    return is_import and first in ours.mentioned and first not in theirs.mentioned


def _test_classes(
    old: Sequence[FilePart], new: Sequence[FilePart]
) -> tuple[ast.ClassDef, ast.ClassDef] | None:
    if len(old) != 1 or len(new) != 1 or not is_test_class(old[0].node):
        return None
    one, other = old[0].node, new[0].node
    if isinstance(one, ast.ClassDef) and isinstance(other, ast.ClassDef):
        return one, other
    return None


def _deleted_names(node: ast.stmt) -> set[str]:
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Del)
    }
