"""In a notebook a run is shown while its cell runs."""

from __future__ import annotations

import asyncio
import builtins
import html
import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


class ZMQInteractiveShell:
    """What a notebook's kernel has; rich knows it by this name."""

    def __init__(self, kernel: object) -> None:
        self.kernel = kernel


class Notebook:
    """What stands in for IPython: it keeps what a cell shows, and each change of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kernel: object) -> None:
        self.shown: list[str] = []
        self.release = asyncio.Event()
        shell = ZMQInteractiveShell(kernel)
        ipython: Any = ModuleType("IPython")
        ipython.get_ipython = lambda: shell
        display: Any = ModuleType("IPython.display")
        display.HTML, display.display = str, self.display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)
        monkeypatch.setattr(builtins, "get_ipython", ipython.get_ipython, raising=False)

    def display(self, _: str, *, display_id: bool) -> Any:
        assert display_id
        return SimpleNamespace(update=self.update)

    def update(self, content: str) -> None:
        self.shown.append(content)
        if "running" in self.texts[-1] and "S1" in self.texts[-1]:
            self.release.set()

    @property
    def texts(self) -> list[str]:
        return [html.unescape(re.sub(r"<[^>]*>", "", each)) for each in self.shown]


def in_cell(script: Script) -> None:
    plan = plan_of({"id": "S1", "agent": "Reader"}, objective="<b>Find</b> out")
    with scripted(script):
        asyncio.run(swarm(plan.objective, plan=plan, options=SwarmOptions(memory=False)))


def test_a_cell_shows_the_steps_while_they_run_and_one_line_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notebook = Notebook(monkeypatch, object())
    in_cell(Script(together=2, release=notebook.release))
    assert notebook.release.is_set()
    assert re.fullmatch(r"Run \w{12} is completed after .*\n", notebook.texts[-1])
    # Nothing in it is HTML but its colours.
    assert "<b>" not in "".join(notebook.shown)


def test_outside_a_notebook_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch, None)
    in_cell(Script())
    assert notebook.shown == []
