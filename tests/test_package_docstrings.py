"""Each package says what is in it and what may import it, and the second is held to."""

from __future__ import annotations

import ast
import re

import pytest
from source_tree import Module, imports, modules

PACKAGES = [name for name, path in modules().items() if name and path.name == "__init__.py"]
# Its docstring is the reference of the pattern files.
LONG = {("parl", "data")}
NOTHING = "Nothing else of the package imports it."


def docstring(package: Module) -> str:
    return ast.get_docstring(ast.parse(modules()[package].read_text("utf-8"))) or ""


def allowed(text: str) -> set[Module]:
    """What a docstring allows to import its package."""
    sentence = re.search(r"May be imported by ([^.]*(?:\.\w[^.]*)*)\.\Z", text.strip())
    assert sentence or text.strip().endswith(NOTHING), (
        f"End the docstring with `May be imported by …` or {NOTHING!r}"
    )
    names = re.findall(r"`([\w.]+)`", sentence[1]) if sentence else []
    return {tuple(name.split(".")) for name in names}


def within(module: Module, package: Module) -> bool:
    return module[: len(package)] == package


@pytest.mark.parametrize("package", PACKAGES, ids=".".join)
def test_a_package_says_in_five_lines_what_is_in_it(package: Module) -> None:
    text = docstring(package)
    assert text
    assert package in LONG or len(text.splitlines()) <= 5


@pytest.mark.parametrize("package", PACKAGES, ids=".".join)
def test_only_what_its_docstring_names_imports_a_package(package: Module) -> None:
    may = {*allowed(docstring(package)), package}
    importers = {
        ".".join(module)
        for module in modules()
        if module
        and any(within(imported, package) for imported in imports(module))
        and not any(within(module, name) for name in may)
    }
    assert not importers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A.\n\nMay be imported by `flows` and `cli.runs`.", {("flows",), ("cli", "runs")}),
        (f"A.\n\n{NOTHING}", set[Module]()),
    ],
)
def test_the_sentence_is_read(text: str, found: set[Module]) -> None:
    assert allowed(text) == found
