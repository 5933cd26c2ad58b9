"""`--file` and `--each` take files of storage blocks, and `--output` writes into one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from prefect.filesystems import LocalFileSystem
from scripted import Script, scripted

from .conftest import Invoke

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

BILLS = "local-file-system/bills"


@pytest.fixture(autouse=True)
def bills(tmp_path: Path) -> None:
    """Save the storage `local-file-system/bills`."""
    (folder := tmp_path / "storage" / "may").mkdir(parents=True)
    (folder / "1.txt").write_text("Invoice 1, total 11")
    (folder / "2.txt").write_text("Invoice 2, total 22")
    (folder / "paid.csv").write_text("number,eur\n1,11\n")
    block: Any = LocalFileSystem(basepath=str(folder.parent))
    block.save("bills", overwrite=True)


def test_a_run_reads_them_beside_local_files(tmp_path: Path, invoke: Invoke) -> None:
    (tmp_path / "rates.md").write_text("Rates: 7 percent")
    given = ("--file", f"{BILLS}:may/*.txt", "--file", tmp_path / "rates.md", "--exclude", "2.*")
    each = ("--template", "Write {item}", "--items", "-")
    with scripted(Script(lambda _: "Done.")) as script:
        result = invoke("run", *each, *given, "--no-memory", "--json", stdin="a\nb\n")
    assert result.exit_code == 0, result.stderr
    assert [*json.loads(result.stdout)["plan"]["inputs"]] == ["rates.md", "1.txt"]
    assert len(script.prompts) == 2
    assert all("Invoice 1" in prompt for prompt in script.prompts)
    assert "2 inputs of about" in result.stderr


@pytest.mark.parametrize(
    ("path", "items"),
    [("may/paid.csv", "paid.csv"), ("may/*.txt", "*")],
)
def test_each_file_or_row_is_a_step(path: str, items: str, invoke: Invoke) -> None:
    result = invoke("plan", "Sum it up", "--each", f"{BILLS}:{path}", "--json")
    assert result.exit_code == 0, result.stderr
    [step] = json.loads(result.stdout)["steps"]
    assert step["for_each"]["items"] == items


def test_what_cannot_be_read_ends_the_command_before_anything_runs(invoke: Invoke) -> None:
    result = invoke("run", "Sum it up", "--file", "local-file-system/nobody-s:may/")
    assert result.exit_code == 2
    assert "there is no block local-file-system/nobody-s" in result.stderr


def test_the_output_may_be_a_folder_of_a_storage(tmp_path: Path, invoke: Invoke) -> None:
    each = ("--template", "Write {item}", "--items", "-", "--output", f"{BILLS}:out/{{run}}")
    with scripted(Script(lambda _: "Done.")):
        result = invoke("run", *each, "--no-memory", "--json", stdin="a\nb\n")
    assert result.exit_code == 0, result.stderr
    folder = tmp_path / "storage" / "out" / json.loads(result.stdout)["run_id"]
    assert (folder / "answer.md").is_file()
