"""Each of the ten jobs does what its page says, with the program that pretends to be a model."""

from __future__ import annotations

import ast
import asyncio
import csv
import inspect
import os
import re
import runpy
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from docs_pages import ROOT, blocks, sections_of
from prefect.settings import get_current_settings
from prefect_swarm.store.runs import list_runs

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")
JOBS = sections_of((ROOT / "examples" / "jobs" / "README.md").read_text("utf-8"))
LONGEST = 15


@contextmanager
def pretending() -> Generator[str]:
    """Serve the program at a free port; yield the model's name."""
    model: Any = runpy.run_path(str(ROOT / "examples" / "tools" / "pretend_model.py"))["Model"]
    with ThreadingHTTPServer(("127.0.0.1", 0), model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"openai:pretend@http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


class Reader:
    """Somebody who types a job in a folder that has the examples."""

    def __init__(self, folder: Path, model: str) -> None:
        self.folder, self.model = folder, model
        shutil.copytree(ROOT / "examples", folder / "examples")

    def type(self, job: str, **names: str) -> str:
        """Type a job's commands; return what they print, of which none may fail."""
        (text,) = blocks(JOBS[job], "sh")
        for name, value in names.items():
            text = re.sub(rf"\b{name}\b", value, text)
        return "".join(map(self._typed, text.splitlines()))

    def _typed(self, command: str) -> str:
        if "FORK" in command:
            command = command.replace("FORK", next(list_runs()).run_id)
        bin_folder = Path(sys.executable).parent
        url = get_current_settings().api.url or ""
        ended = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={
                **os.environ,
                "PATH": f"{bin_folder}:{os.environ['PATH']}",
                "PREFECT_API_URL": url,
                "PREFECT_INTEGRATIONS_SWARM_MODEL": self.model,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    def run(self, job: str, call: str = "") -> Any:
        """Run a job's lines; return what a function of theirs returns, or their names."""
        (text,) = blocks(JOBS[job], "python")
        code = compile(text, job, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        names: dict[str, Any] = {"__name__": "job"}
        found = eval(code, names)  # noqa: S307 - the page's own lines
        if inspect.iscoroutine(found):
            asyncio.run(found)
        made = names[call]() if call else names
        return asyncio.run(made) if inspect.iscoroutine(made) else made


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Reader]:
    with pretending() as model:
        monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_MODEL", model)
        monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_MEMORY", "false")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        made = Reader(tmp_path, model)
        monkeypatch.chdir(tmp_path)
        yield made


def test_there_are_ten_and_none_is_long() -> None:
    jobs = {name: text for name, text in JOBS.items() if name}
    assert len(jobs) == 10
    for text in jobs.values():
        (code,) = blocks(text, "sh") + blocks(text, "python")
        assert len([line for line in code.splitlines() if line.strip()]) <= LONGEST


def test_papers_are_judged_and_compared(reader: Reader) -> None:
    reader.type("Papers")
    assert "There are 22 papers" in (reader.folder / "papers" / "answer.md").read_text("utf-8")


def test_invoices_become_one_table(reader: Reader) -> None:
    reader.type("Two hundred invoices, one table")
    with (reader.folder / "invoices" / "answer.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["number"] for row in rows] == [str(n) for n in range(1041, 1047)]
    assert sum(float(row["total"]) for row in rows) == 4772.65


def test_a_folder_is_read_by_a_flow_of_ones_own(reader: Reader) -> None:
    answer = reader.run("A folder each night", "nightly")
    assert answer == "Change the rope of the south crane, and free a berth for gravel."


def test_each_bug_is_corrected_in_a_copy(reader: Reader) -> None:
    reader.run("Four bugs")
    fixed = {path.name: runpy.run_path(str(path)) for path in (reader.folder / "fixed").iterdir()}
    assert fixed["prices.py"]["total"]([1.0, 2.0]) == 3.0
    assert fixed["stock.py"]["missing"](5, 2) == 3
    assert fixed["mail.py"]["greeting"]("Ada") == "Dear Ada,"
    assert fixed["dates.py"]["is_open"](5)


def test_a_review_goes_on_until_a_round_finds_nothing(reader: Reader) -> None:
    printed = reader.type("A review until nothing new is found")
    assert "No hour." in printed
    assert "No berth." in printed
    assert next(list_runs()).status == "completed"


def test_a_task_of_another_flow_runs_a_swarm(reader: Reader) -> None:
    answers = reader.run("A flow of your own, with `.map`", "ports")
    assert answers == ["It is a small port with a lock, a fish market and two cranes."] * 3


def test_a_picture_and_a_document_are_read(reader: Reader) -> None:
    printed = reader.type("A picture and a Word document")
    assert "There is a sign, and the memo names the same hours." in printed


def test_a_notebook_has_a_result_and_its_rows(reader: Reader) -> None:
    names = reader.run("A notebook")
    assert [row["item"] for row in names["rows"]] == ["trains", "buses"]
    assert "<style>" in names["result"]._repr_html_()


def test_what_runs_cost_is_listed(reader: Reader) -> None:
    reader.type("A review until nothing new is found")
    assert "Find all mistakes" in reader.type("What last week cost")


def test_a_changed_prompt_is_done_anew(reader: Reader) -> None:
    reader.type("A review until nothing new is found")
    run = next(list_runs()).run_id
    printed = reader.type("One prompt changed", RUN=run)
    assert "grave" in printed
