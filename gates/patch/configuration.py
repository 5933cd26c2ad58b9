"""The files that say how a project is checked, and whether a patch changes what they say. Pure."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, cast

from ...plan.output import NOT_READ
from ...workspace.names import is_test
from .file_parts import LARGEST

__all__ = ["configuration_problem", "hidden_module", "hook_problem", "is_check_configuration"]

_NAMES = frozenset(
    {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml"}
    | {"setup.cfg", "pyproject.toml", "package.json", "conftest.py", "noxfile.py"}
    | {".coveragerc", ".coveragerc.toml", "ruff.toml", ".ruff.toml", "pyrightconfig.json"}
    | {"mypy.ini", ".mypy.ini", ".flake8", ".pylintrc", "pylintrc", ".isort.cfg", "ty.toml"}
    | {".pre-commit-config.yaml", ".eslintignore", "biome.json", "biome.jsonc", "karma.conf.js"}
)
_BEGINNINGS = (
    *("jest.config.", "jest.setup.", "vitest.config.", "vitest.setup.", "vitest.workspace."),
    *("eslint.config.", ".eslintrc", "playwright.config.", "cypress.config.", ".mocharc"),
    *("prettier.config.", ".prettierrc", "ava.config.", ".nycrc"),
)
_TOOLS = frozenset(
    {"ruff", "pyright", "basedpyright", "mypy", "coverage", "tox", "black", "isort", "pylint"}
    | {"flake8", "ty", "hypothesis", "nox"}
)
_OF_PACKAGE = frozenset({"jest", "vitest", "eslintConfig", "mocha", "ava", "nyc", "c8", "prettier"})
_CHECKING_SCRIPTS = ("test", "pretest", "posttest", "lint", "check", "typecheck", "coverage")
_NOT_OF_CHECKS = ("metadata", "options", "bdist", "sdist", "build", "egg_info", "wheel")

_PLUGINS = ("options.entry_points", "entry_points")

_CHANGED = "configuration of checks changed"


def is_check_configuration(path: str) -> bool:
    """Say whether a file decides how a project is checked; others of its content may not."""
    name = path.rpartition("/")[2]
    is_of_typescript = name.startswith("tsconfig") and name.endswith(".json")
    return name in _NAMES or name.startswith(_BEGINNINGS) or is_of_typescript


def configuration_problem(path: str, old: bytes | None, new: bytes | None) -> str:
    """Say whether a file of configuration has another effect; "" if it has the same."""
    name = path.rpartition("/")[2]
    if max(len(old or b""), len(new or b"")) > LARGEST:
        return f"{_CHANGED}, and can't be compared: it is too large"
    read = _READERS.get(name) or _reader_by_ending(name)
    try:
        before = read(old)
    except NOT_READ:
        return _CHANGED
    try:
        return "" if before == read(new) else _CHANGED
    except NOT_READ:
        return f"{_CHANGED}: it can't be read any more"


def _reader_by_ending(name: str) -> Callable[[bytes | None], Any]:
    if name.endswith(".toml"):
        return _toml
    return _lines if name.endswith((".ini", ".cfg", "rc", ".flake8")) else _bytes


def _bytes(data: bytes | None) -> bytes | None:
    return None if data is None else data.replace(b"\r\n", b"\n").rstrip()


def _toml(data: bytes | None) -> dict[str, Any] | None:
    return None if data is None else tomllib.loads(data.decode().replace("\r\n", "\n"))


def _lines(data: bytes | None) -> list[str] | None:
    """Return the lines that say something; how far one is from the margin says something too."""
    if data is None:
        return None
    lines = data.decode("utf-8-sig", "replace").splitlines()
    return [line.rstrip() for line in lines if line.strip() and line.lstrip()[0] not in "#;"]


def _sections(data: bytes | None) -> list[str]:
    """Return the lines of sections that are about checks."""
    kept: list[str] = []
    has_plugins = b"pytest11" in (data or b"")
    is_kept = True
    for line in _lines(data) or ():
        if line.lstrip().startswith("["):
            title = line.strip().lstrip("[").partition("]")[0].strip()
            is_kept = has_plugins if title in _PLUGINS else not title.startswith(_NOT_OF_CHECKS)
        if is_kept:
            kept.append(line)
    return kept


def _project(data: bytes | None) -> dict[str, Any]:
    """Return what a pyproject.toml says about checks."""
    whole = _toml(data) or {}
    tools = _table(whole, "tool")
    found = {
        name: value for name, value in tools.items() if name in _TOOLS or name.startswith("pytest")
    }
    plugins = (
        _table(whole, "project", "entry-points", "pytest11"),
        _table(tools, "poetry", "plugins", "pytest11"),
    )
    return {**found, **{f"plugins {number}": each for number, each in enumerate(plugins) if each}}


def _table(held: Mapping[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        inner = held.get(name)
        held = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return dict(held)


def _package(data: bytes | None) -> dict[str, Any]:
    """Return what a package.json says about checks."""
    read: Any = {} if data is None else json.loads(data)
    whole = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    scripts = {
        name: value
        for name, value in _table(whole, "scripts").items()
        if name.startswith(_CHECKING_SCRIPTS)
    }
    found = {name: value for name, value in whole.items() if name in _OF_PACKAGE}
    return {**found, **({"scripts": scripts} if scripts else {})}


_READERS: Mapping[str, Callable[[bytes | None], Any]] = {
    "setup.cfg": _sections,
    "pyproject.toml": _project,
    "package.json": _package,
}


# --- files that act by their names ----------------------------------------------------------------

_TEST_TOOLS = frozenset({"pytest", "_pytest", "unittest", "pluggy", "coverage", "xdist"})
_AT_START = frozenset({"sitecustomize", "usercustomize"})
_MODULES = ("py", "pyc", "pyo", "so", "pyd")
_KNOWN = sys.stdlib_module_names | frozenset(
    {"hypothesis", "mock", "freezegun", "time_machine", "responses", "respx", "requests", "httpx"}
)
_ROOTS = frozenset({"", "src", "lib", "python"})


def hook_problem(path: str, *, is_new: bool) -> str:
    """Say what a file does by its name alone: hide a test tool, or run when Python starts."""
    folders = path.split("/")[:-1]
    name, *endings = path.rpartition("/")[2].split(".")
    can_be_imported = bool(endings) and _is_module(path)
    if can_be_imported and name in _AT_START:
        return "it runs whenever Python starts"
    if endings and endings[-1] == "pth":
        return "it may run whenever Python starts"
    if path.endswith("entry_points.txt") and any(_is_metadata(each) for each in folders):
        return "it may add a plugin to pytest"
    hidden = _TEST_TOOLS.intersection((name,) if can_be_imported else ()) or (
        _TEST_TOOLS.intersection(folders[-1:]) if name == "__init__" else ()
    )
    if is_new and (hidden or "_pytest" in folders):
        return f"it takes the place of {''.join(hidden) or '_pytest'}"
    return ""


def _is_metadata(folder: str) -> bool:
    return folder.endswith((".egg-info", ".dist-info"))


def _is_module(path: str) -> bool:
    """Whether Python can import a file."""
    return path.rpartition(".")[2] in _MODULES


def hidden_module(path: str, packages: frozenset[str]) -> str:
    """Return the module from elsewhere that a new file takes the place of; "" if none.

    It may be what tests were written for, so modules from elsewhere are told by their names.

    Args:
        path: The new file.
        packages: Folders of tests that are packages: what is in them has a longer name.
    """
    *folders, name = path.split("/")
    module = name.partition(".")[0]
    if module == "__init__" and folders:
        module = folders.pop()
    folder = "/".join(folders)
    is_root = folder in _ROOTS or (is_test(f"{folder}/x") and folder not in packages)
    return module if _is_module(path) and is_root and module in _KNOWN else ""
