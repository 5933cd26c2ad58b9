"""`run --approve plan` at a terminal: a real process with a pseudo-terminal of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eliciting_mcp_server import SERVER
from prefect.settings import get_current_settings
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer
from ready_scripts import ReadyScript, start_script

pytestmark = [pytest.mark.usefixtures("prefect_server", "swarm_home"), pytest.mark.slow]

SCRIPT = Path(__file__).with_name("at_terminal.py")
PROMPT = "[y]es, [n]o, [e]dit: "
_PATIENCE_S = 120
PLAN: dict[str, Any] = {
    "objective": "Find out",
    "agents": [{"name": "Reader", "system_prompt": "You read closely."}],
    "steps": [
        {"id": "S1", "agent": "Reader", "prompt": "do S1"},
        {"id": "S2", "agent": "Reader", "prompt": "do S2", "depends_on": ["S1"]},
    ],
}


class Terminal:
    """A command that runs at a terminal."""

    def __init__(self, process: ReadyScript, screen: int) -> None:
        self.process = process
        self.screen = screen
        self.seen = ""

    def until(self, words: str) -> str:
        """Read what is shown until these words come; return all up to them."""
        limit = time.monotonic() + _PATIENCE_S
        while words not in self.seen:
            ready, _, _ = select.select([self.screen], [], [], limit - time.monotonic())
            assert ready, f"{words!r} didn't come: {self.seen!r}"
            self.seen += _shown(self._read())
        before, _, self.seen = self.seen.partition(words)
        return before

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def end(self) -> tuple[int, str]:
        """Read to the end; return the exit code and all that was shown."""
        while data := self._read():
            self.seen += _shown(data)
        return self.process.wait(_PATIENCE_S), self.seen

    def _read(self) -> bytes:
        try:
            return os.read(self.screen, 65536)
        except OSError:  # The other side is closed.
            return b""


def _shown(data: bytes) -> str:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@contextmanager
def terminal(*arguments: object, **variables: str) -> Generator[Terminal]:
    api = get_current_settings().api.url
    assert api is not None
    own, others = pty.openpty()
    size = {"TERM": "xterm", "COLUMNS": "120"}
    environment = {**os.environ, "PREFECT_API_URL": api, **size, **variables}
    streams = (others, others, others)
    process = start_script(SCRIPT, *arguments, environment=environment, streams=streams)
    os.close(others)
    try:
        yield Terminal(process, own)
    finally:
        process.kill()
        process.communicate()
        os.close(own)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN), "utf-8")
    return path


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    (path := tmp_path / "calls").touch()
    return path


def editor(folder: Path, *scripts: str) -> str:
    """An editor that does to the file what these Python lines do, one each time it opens."""
    count, path = folder / "opened", folder / "editor.py"
    path.write_text(
        "import pathlib, sys\n"
        f"count = pathlib.Path({str(count)!r})\n"
        "number = int(count.read_text()) if count.exists() else 0\n"
        "count.write_text(str(number + 1))\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "text = file.read_text('utf-8')\n"
        f"pathlib.Path({str(folder)!r}, f'seen{{number}}').write_text(text, 'utf-8')\n"
        f"scripts = {scripts!r}\n"
        "exec(scripts[number])\n",
        "utf-8",
    )
    return f"{sys.executable} {path}"


RUN = ("run", "--no-memory", "--approve", "plan", "--plan")


def test_the_plan_is_shown_as_plan_prints_it_and_y_runs_it(plan: Path, calls: Path) -> None:
    with terminal(calls, *RUN, plan) as shown:
        asked = shown.until(PROMPT)
        assert "Find out" in asked
        assert "2 steps, 1 can start immediately, longest path 2 steps." in asked
        assert "Estimated: about" in asked
        assert calls.read_text("utf-8") == ""
        shown.type("y\n")
        code, rest = shown.end()
    assert code == 0, rest
    assert "is completed." in rest
    assert len(calls.read_text("utf-8").splitlines()) == 2


def test_n_asks_why_and_ends_the_run(plan: Path, calls: Path) -> None:
    with terminal(calls, *RUN, plan) as shown:
        shown.until(PROMPT)
        shown.type("n\n")
        shown.until("Why? ")
        shown.type("too dear\n")
        code, rest = shown.end()
    assert code == 1
    assert "The plan was rejected: too dear." in rest
    assert calls.read_text("utf-8") == ""


@pytest.mark.parametrize(("typed", "code", "asked"), [("n\n", 130, 0), ("y\n", 0, 2)])
def test_what_is_sent_to_every_item_is_asked_about(
    typed: str, code: int, asked: int, calls: Path, tmp_path: Path
) -> None:
    (items := tmp_path / "items.txt").write_text("tea\ncoffee\n")
    (long := tmp_path / "long.md").write_text("A long text. " * 4000)
    mapped = ("--items", items, "--template", "Rate {item}", "--file", long, "--no-memory")
    with terminal(calls, "run", *mapped) as shown:
        before = shown.until("Go on? [y/N]: ")
        assert (
            "Each of the 2 instances of S1 reads long.md: 2 times 17,334 tokens, 34,668 in all."
            in before
        )
        shown.type(typed)
        ended, rest = shown.end()
    assert ended == code, rest
    assert sum("Rate" in line for line in calls.read_text("utf-8").splitlines()) == asked


def test_anything_else_is_asked_again(plan: Path, calls: Path) -> None:
    with terminal(calls, *RUN, plan) as shown:
        shown.until(PROMPT)
        for typed in ("\n", "perhaps\n", "yess\n"):
            shown.type(typed)
            shown.until(PROMPT)
        assert calls.read_text("utf-8") == ""
        shown.type("yes\n")
        assert shown.end()[0] == 0


def test_what_was_typed_before_a_question_was_shown_is_no_answer_to_it(
    calls: Path, tmp_path: Path
) -> None:
    steps = [{**PLAN["steps"][0], "approval": True}]
    path = tmp_path / "asking.json"
    path.write_text(json.dumps({**PLAN, "steps": steps}), "utf-8")
    with terminal(calls, *RUN, path, "--approve", "steps") as shown:
        shown.until(PROMPT)
        shown.type("y\ny\n")
        shown.until("Go on? [y]es, [n]o: ")
        shown.type("n\n")
        shown.until("Why? ")
        shown.type("not yet\n")
        code, rest = shown.end()
    assert code == 1
    assert "not yet" in rest
    assert calls.read_text("utf-8") == ""


def test_an_edited_plan_runs_once_it_is_a_plan(plan: Path, calls: Path, tmp_path: Path) -> None:
    edit = editor(
        tmp_path,
        "file.write_text(text.replace('agent: Reader', 'agent: Writer', 1), 'utf-8')",
        "file.write_text(text.replace('agent: Writer', 'agent: Reader')"
        ".replace('do S2', 'do it otherwise'), 'utf-8')",
    )
    with terminal(calls, *RUN, plan, EDITOR=edit, VISUAL="") as shown:
        shown.until(PROMPT)
        shown.type("e\n")
        shown.until("step S1 is assigned to an unknown agent 'Writer'")
        code, rest = shown.end()
    assert code == 0, rest
    # The second time the problem stood above its line.
    second = (tmp_path / "seen1").read_text("utf-8").splitlines()
    at = next(n for n, line in enumerate(second) if "# ERROR: step S1" in line)
    assert second[at + 1].strip() == "- id: S1"
    assert "do it otherwise" in calls.read_text("utf-8").splitlines()[1]


@pytest.mark.parametrize("script", ["pass", "file.write_text('')", "sys.exit(3)"])
def test_a_plan_that_is_left_as_it_is_or_emptied_is_asked_about_again(
    plan: Path, calls: Path, tmp_path: Path, script: str
) -> None:
    with terminal(calls, *RUN, plan, EDITOR=editor(tmp_path, script), VISUAL="") as shown:
        shown.until(PROMPT)
        shown.type("e\n")
        shown.until("The plan is as it was.")
        shown.until(PROMPT)
        assert calls.read_text("utf-8") == ""
        shown.type("n\n")
        shown.until("Why? ")
        shown.type("\n")
        assert shown.end()[0] == 1


def test_an_end_of_input_leaves_the_run_waiting(plan: Path, calls: Path) -> None:
    with terminal(calls, *RUN, plan) as shown:
        shown.until(PROMPT)
        shown.type("\x04")
        code, rest = shown.end()
    assert code == 4, rest
    assert "waits for approval of the plan" in rest
    assert calls.read_text("utf-8") == ""


def test_ctrl_c_cancels_the_run_and_nothing_is_decided(plan: Path, calls: Path) -> None:
    with terminal(calls, *RUN, plan) as shown:
        shown.until(PROMPT)
        shown.process.send_signal(signal.SIGINT)
        code, rest = shown.end()
    assert code == 130, rest
    assert [q.id for q in Approvals(_run_of(rest)).pending()] == ["plan"]


def test_an_answer_of_another_process_is_heard_at_the_terminal(
    plan: Path, calls: Path, swarm_home: Path
) -> None:
    with terminal(calls, *RUN, plan) as shown:
        shown.until(PROMPT)
        (folder,) = [path.parent for path in swarm_home.glob("runs/*/run.json")]
        Approvals(RunFolder(folder)).answer(
            Answer(question="plan", verdict="approved", by="command")
        )
        code, rest = shown.end()
    assert code == 0, rest
    assert len(calls.read_text("utf-8").splitlines()) == 2


def _run_of(shown: str) -> RunFolder:
    found = re.search(r"prefect-swarm resume (\w+)", shown)
    assert found is not None
    return RunFolder.find(found[1])


def test_what_a_server_asks_for_is_typed_field_by_field(calls: Path, tmp_path: Path) -> None:
    notes, tools, path = (tmp_path / name for name in ("notes", "tools.json", "books.json"))
    entry = {"command": sys.executable, "args": [str(SERVER), str(notes)]}
    tools.write_text(json.dumps({"mcpServers": {"travel": entry}}), "utf-8")
    agents = [{**PLAN["agents"][0], "tools": ["travel"]}]
    path.write_text(json.dumps({**PLAN, "agents": agents, "steps": PLAN["steps"][:1]}), "utf-8")
    run = ("run", "--no-memory", "--mcp", tools, "--plan", path)
    with terminal(calls, *run) as shown:
        asked = shown.until("Answer it? [y]es, [n]o: ")
        assert "How do you want to fly to Rome?" in asked
        shown.type("y\n")
        shown.until("How many seats? (whole number, 1 to 9): ")
        shown.type("12\n")
        assert "seats has to be whole number, 1 to 9." in shown.until("1 to 9): ")
        shown.type("2\n")
        shown.until("(one of meat, none, else none): ")
        shown.type("\n")
        shown.until("(yes or no, else no): ")
        shown.type("y\n")
        code, rest = shown.end()
    assert code == 0, rest
    assert notes.read_text().splitlines()[-1] == "booked Rome 2"


def test_a_batch_says_how_far_it_is(tmp_path: Path, calls: Path) -> None:
    jobs, results = tmp_path / "jobs.jsonl", tmp_path / "results.jsonl"
    jobs.write_text(f"{json.dumps(PLAN)}\nnonsense\n", "utf-8")
    with terminal(calls, "batch", "--no-memory", "--output", results, jobs) as shown:
        shown.until("0 of 2 lines: 1 running")
        code, rest = shown.end()
    assert code == 3, rest
    assert "Line 2: failed: The line is not JSON" in rest
    assert "2 lines: 1 completed, 1 failed" in rest
