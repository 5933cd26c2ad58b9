"""`prefect-swarm doctor`: what is there, what is wrong, and how to fix it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ...exit_codes import ExitCode
from ...flows.options import SwarmOptions
from ...text import visible
from ..command import AsJson
from ..output.printing import print_json, print_text
from .check import Check
from .checks import check_all

__all__ = ["doctor"]

_SIGNS = {"ok": "ok  ", "warn": "WARN", "fail": "FAIL"}


def doctor(
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
    deep: Annotated[
        bool, typer.Option("--deep", help="Load the models and let each say a few words.")
    ] = False,
    login: Annotated[
        bool, typer.Option("--login", help="Log in by OAuth at the MCP servers that ask for it.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check what is installed, which models and Prefect server are used and where data lies."""
    checks = check_all(options, deep=deep, login=login)
    failed = sum(check.status == "fail" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            _print(check)
    return ExitCode.FAILED if failed else ExitCode.COMPLETED


def _print(check: Check) -> None:
    print_text(f"{_SIGNS[check.status]}  {check.name:<16} {visible(check.detail)}")
    if check.fix:
        print_text(f"      {'':<16} {visible(check.fix)}")
