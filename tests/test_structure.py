"""No module is in a circle, and a name has one meaning; pyproject.toml has the layers."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from longest_files import LONGEST
from source_tree import Module, circles, modules


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circles() == []


def test_a_circle_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    arrows: dict[Module, set[Module]] = {("a",): {("b",)}, ("b",): {("c",)}, ("c",): {("b",)}}
    monkeypatch.setattr("source_tree.modules", lambda: arrows)
    monkeypatch.setattr("source_tree.imports", arrows.__getitem__)
    assert circles() == [["b", "c"]]


def test_a_class_name_has_one_meaning() -> None:
    names = Counter(
        node.name
        for path in modules().values()
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("module", [m for m in modules() if m[:1] == ("flows",)], ids=".".join)
def test_a_record_changes_through_its_own_methods(module: Module) -> None:
    tree = ast.parse(modules()[module].read_text("utf-8"))
    changed = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value).split(".")[-1].split("[")[0] in ("record", "records")
    ]
    assert changed == []


def test_the_longest_test_files_are_where_the_list_says() -> None:
    assert [path for path in LONGEST if not path.is_file()] == []
