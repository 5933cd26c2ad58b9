"""Check Python files against the examples and tests that there are for them."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version

from ...errors import GateError
from ...task_ir import Example
from ..result import Finding
from ..sandbox import backend_kind
from ..sandbox.visible_files import package_folders
from .emptied import emptied
from .layout import Layout, Placed
from .run import Calls, Tests, canary, run_jobs
from .verdict import Trial, verdict

__all__ = ["installed", "python_version", "run_trial"]

_EMPTIED_S = 5
"""Seconds of computing for tests without their code: those that take longer notice, too."""


async def run_trial(
    layout: Layout,
    modules: Iterable[Placed],
    tests: Sequence[Placed],
    examples: Sequence[Example] = (),
    data: dict[str, str] | None = None,
) -> Finding:
    """Import modules, evaluate examples over the last one's names, and run tests, in the sandbox.

    Args:
        data: Further files by path.
    """
    calls = tuple(example.call for example in examples)
    jobs: list[Calls | Tests] = [Calls(tuple(placed.module for placed in modules), calls)]
    texts = {**(data or {}), **layout.texts()}
    path = ""
    if tests:
        path, text = canary()
        jobs += _test_jobs(layout, tests, (path, text))
    report = await run_jobs(texts, jobs, roots=layout.roots)
    return verdict(Trial(layout, jobs, examples, path), report)


def _test_jobs(layout: Layout, tests: Sequence[Placed], canary: tuple[str, str]) -> list[Tests]:
    """Return the run of all tests, and that of the artifact's own without the code they test."""
    path, text = canary
    files = {placed.path: (placed.module, placed.text) for placed in tests}
    own = [placed for placed in tests if placed.piece.own]
    docs = {placed.path: _doctests(placed) for placed in own if placed.piece.facts.doctests}
    jobs = [Tests({**files, path: (path.removesuffix(".py"), text)}, docs)]
    if own and (texts := emptied(layout, own)):
        of_own = {placed.path: (placed.module, placed.text) for placed in own}
        of_own |= {at: (of_own[at][0], texts[at]) for at in texts if at in of_own}
        jobs.append(Tests(of_own, docs, texts, path, cpu_s=_EMPTIED_S, wall_s=2.0 * _EMPTIED_S))
    return jobs


def _doctests(placed: Placed) -> list[tuple[str, int, str]]:
    found = placed.piece.facts.doctests
    return [(name, line + placed.added * (line > placed.head), text) for name, line, text in found]


def python_version() -> str:
    """Return the versions of what runs the tests, and the sandbox policy.

    Raises:
        GateError: There is no pytest.
        SandboxError: There is no sandbox.
    """
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from ...settings import SwarmSettings

    policy = SwarmSettings().sandbox
    if policy == "strict":
        backend_kind()
    return f"{_tools()}, sandbox {policy}"


@cache
def _tools() -> str:
    try:
        of_pytest = version("pytest")
    except PackageNotFoundError:
        raise GateError("pytest isn't installed.", "pip install pytest") from None
    of_python = ".".join(map(str, sys.version_info[:3]))
    return f"pytest {of_pytest}, Python {of_python}, {_packages()}"


def _packages() -> str:
    """Say which packages code can import: their number, and a digest of names and versions."""
    entries = (entry for folder in package_folders() for entry in os.listdir(folder))
    found = sorted(entry for entry in entries if entry.endswith((".dist-info", ".egg-info")))
    digest = hashlib.sha256("\n".join(found).encode()).hexdigest()
    return f"{len(found)} packages {digest[:8]}"


@cache
def installed() -> frozenset[str]:
    """Return the top-level modules that are there beside Python's own."""
    return frozenset(packages_distributions())
