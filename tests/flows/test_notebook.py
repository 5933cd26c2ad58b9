"""In a notebook a run is shown while its cell runs."""

from __future__ import annotations

import asyncio
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


class Notebook:
    """What stands in for IPython: it keeps what is shown in a cell, and each change of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kernel: object) -> None:
        self.shown: list[str] = []
        ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
        ipython.get_ipython = lambda: SimpleNamespace(kernel=kernel)
        display.HTML = str
        display.display = self.display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, content: str, *, display_id: bool) -> Any:
        assert display_id
        self.shown.append(content)
        return SimpleNamespace(update=self.shown.append)

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
    release = asyncio.Event()

    def update(content: str) -> None:
        notebook.shown.append(content)
        if "running" in notebook.texts[-1] and "S1" in notebook.texts[-1]:
            release.set()

    monkeypatch.setattr(
        sys.modules["IPython.display"],
        "display",
        lambda content, display_id: SimpleNamespace(update=update),
    )
    in_cell(Script(together=2, release=release))
    assert release.is_set()
    assert re.fullmatch(r"Run \w{12} is completed after .*\n", notebook.texts[-1])
    # Nothing in it is HTML but its colours.
    assert "<b>" not in "".join(notebook.shown)


def test_outside_a_notebook_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch, None)
    in_cell(Script())
    assert notebook.shown == []
