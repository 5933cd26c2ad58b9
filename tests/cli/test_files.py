"""`--file` and `--output`: documents go in, the answer and each artifact come out as files."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flow_runs import plan_of
from prefect_swarm.cli.terminal import files as folder
from prefect_swarm.models.resolve import override_models
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from quoted_texts import without_marks
from scripted import Script

from .conftest import Invoke

CODE = "def double(n):\n    return 2 * n\n"
PLAN = plan_of(
    {"id": "S1", "inputs": ["sales.csv"]},
    {"id": "S2", "inputs": ["notes.md"], "output": {"kind": "python"}, "gates": []},
    {"id": "S3", "depends_on": ["S1", "S2"]},
)


@pytest.fixture
def script(prefect_server: None) -> Iterator[Script]:
    script = Script(lambda prompt: f"```python\n{CODE}```" if "do S2" in prompt else "All done.")
    model = script.model()
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        yield script


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    (root := tmp_path / "papers").mkdir()
    (root / "sales.csv").write_text("region,sum\nnorth,3\n")
    (root / "notes.md").write_text("# Rain\n")
    return root


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (path := tmp_path / "plan.json").write_text(PLAN.model_dump_json())
    return path


def test_files_go_in_and_files_come_out(
    script: Script, papers: Path, plan: Path, tmp_path: Path, invoke: Invoke
) -> None:
    out = tmp_path / "out"
    result = invoke(
        "run", "--plan", plan, "--file", papers, "--no-memory", "--output", out, "--json"
    )
    assert result.exit_code == 0, result.stderr
    assert SwarmResult.model_validate_json(result.stdout).answer == "All done."
    assert f"Wrote 4 files into {out}." in result.stderr
    assert {path.name: path.read_text() for path in out.iterdir()} == {
        "answer.md": "All done.\n",
        "S1-reader.md": "All done.\n",
        "S2-reader.py": CODE,
        "S3-reader.md": "All done.\n",
    }
    assert sum("region,sum" in prompt for prompt in script.prompts) == 1
    assert sum("# Rain" in prompt for prompt in script.prompts) == 1


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("people.csv", "Zürich".encode("latin-1"), "can't be read as UTF-8"),
        ("data.json", b"{", "is not JSON"),
        ("paper.pdf", b"%PDF-1.4\n", "can't be read as a PDF"),
        ("logo.png", b"\x89PNG\0", "is a binary file"),
    ],
)
@pytest.mark.parametrize("command", ["run", "plan", "batch"])
def test_a_file_that_cannot_be_given_ends_a_command_before_anything_is_asked(
    command: str, name: str, data: bytes, why: str, script: Script, tmp_path: Path, invoke: Invoke
) -> None:
    (tmp_path / name).write_bytes(data)
    result = invoke(command, "Sum up", "--file", tmp_path / name)
    assert result.exit_code == 2
    assert why in result.stderr
    assert name in result.stderr
    assert script.prompts == []


def test_an_output_with_files_in_it_is_refused_first(
    script: Script, papers: Path, tmp_path: Path, invoke: Invoke
) -> None:
    result = invoke("run", "Sum up", "--output", papers)
    assert result.exit_code == 2
    assert f"{papers} is a folder with files in it" in result.stderr
    assert "is not a folder" in invoke("run", "Sum up", "--output", papers / "notes.md").stderr
    assert script.prompts == []


def test_a_full_disk_is_an_error_and_the_result_is_kept(
    script: Script,
    papers: Path,
    plan: Path,
    tmp_path: Path,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write = folder.write_atomically

    def full(path: Path, text: str, *, mode: int) -> None:
        if path.name.startswith("S3"):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, text, mode=mode)

    monkeypatch.setattr(folder, "write_atomically", full)
    out = tmp_path / "out"
    result = invoke("run", "--plan", plan, "--file", papers, "--no-memory", "--output", out)
    assert result.exit_code == 1
    assert f"output {out} can't be written: No space left on device" in result.stderr
    assert not out.exists() or not list(out.iterdir())
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("Run ")]
    kept = RunFolder.find(line.split()[1]).result()
    assert kept is not None
    assert kept.answer == "All done."


def test_a_plan_shows_what_its_steps_read(papers: Path, plan: Path, invoke: Invoke) -> None:
    shown = invoke("plan", "--plan", plan, "--file", papers)
    assert shown.exit_code == 0, shown.stderr
    assert "sales.csv" in shown.stdout
    printed = invoke("plan", "--plan", plan, "--file", papers, "--json")
    assert json.loads(printed.stdout)["inputs"] == {}


def test_a_plan_whose_inputs_are_missing_is_refused(plan: Path, invoke: Invoke) -> None:
    result = invoke("plan", "--plan", plan)
    assert result.exit_code == 2
    assert "step S1 reads an unknown input 'sales.csv'; no inputs are given" in result.stderr


def test_every_line_of_a_batch_is_given_the_files_and_its_own_inputs(
    script: Script, papers: Path, tmp_path: Path, invoke: Invoke
) -> None:
    line = {"prompt_template": "Read {item}", "items": ["a", "b"], "inputs": {"own": "mine"}}
    (lines := tmp_path / "lines.jsonl").write_text(json.dumps(line))
    result = invoke("batch", lines, "--file", papers / "notes.md", "--no-memory")
    assert result.exit_code == 0, result.stderr
    assert without_marks(script.prompts[0]).startswith(
        "Input own:\nmine\n\nInput notes.md:\n# Rain"
    )
