"""Commands over a copy of a folder, in the real sandbox: what they see, change and can't reach."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from git_folders import as_it_lies, write_files
from prefect_swarm.errors import InputError
from prefect_swarm.gates.patch import execution
from prefect_swarm.gates.patch.execution import (
    LIMITS,
    Executed,
    execute,
    interpreter_problem,
    place_problem,
    within,
)
from prefect_swarm.gates.sandbox import Program, ProgramResult, SandboxLimits
from prefect_swarm.gates.sandbox.launcher.wire import pack, unpack_from
from prefect_swarm.workspace.repository import LARGEST_FILE, FileData

QUICK = replace(within(30), memory_bytes=512 << 20, disk_bytes=48 << 20)


def executed(files: Path, *commands: str, limits: SandboxLimits = QUICK, **more: Any) -> Executed:
    options: dict[str, Any] = {"place": str(files.parent / "user" / "project"), **more}
    return asyncio.run(execute(files, commands, limits=limits, **options))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return write_files(tmp_path / "files", {"a.txt": "one\n", "b/c.py": "x = 1\n"})


def test_a_folder_that_each_sandbox_shows_is_no_workspace(tmp_path: Path) -> None:
    assert place_problem(str(tmp_path)) == ""
    for shown in ("/usr/share", str(Path(sys.prefix) / "lib")):
        assert "each sandbox shows" in place_problem(shown)
    assert "environment of this Python" in place_problem(sys.prefix)


def test_commands_see_the_files_where_the_user_has_them_and_nothing_else(
    tmp_path: Path, files: Path
) -> None:
    secret = write_files(tmp_path, {"secret": "hunter2"}) / "secret"
    secret.chmod(0o644)
    done = executed(
        files,
        "pwd; cat a.txt; echo $PWD",
        f"cat {secret} {files}/a.txt /etc/shadow; ls {tmp_path} /root /home",
        "echo $HOME $PREFECT_HOME $PATH; env | grep -i -e prefect -e token",
        "python -c \"import socket; socket.create_connection(('1.1.1.1', 53), 2)\"",
        "echo $$; kill -0 1; exit 7",
    )
    place = str(tmp_path / "user" / "project")
    first, second, third, fourth, fifth = done.results
    assert (first.exit_code, first.output) == (0, f"{place}\none\n{place}\n")
    assert second.exit_code != 0
    assert "hunter2" not in second.output
    assert "one" not in second.output
    assert "prefect-swarm-tests" not in third.output
    assert fourth.exit_code != 0
    assert fifth.exit_code == 7
    assert (done.ended, done.changes) == ("", {})


def test_files_that_commands_change_come_back_and_the_folder_stays(files: Path) -> None:
    (files / "link").symlink_to("a.txt")
    (files / "run").write_text("x")
    (files / "same").write_text("x")
    before = as_it_lies(files)
    done = executed(
        files,
        # Of the same size and time as before.
        "touch -r a.txt /tmp/time && printf 'two\\n' >a.txt && touch -r /tmp/time a.txt",
        "chmod +x run; touch same; mkdir -p new/deep; printf '\\0' >new/deep/file; rm -r b",
        "mkdir __pycache__ .x_cache; touch __pycache__/a .x_cache/b; ln -s /etc/passwd out",
        "rm link; ln -s b link; mkfifo pipe; touch hidden; chmod 0 hidden",
        "touch \"$(printf 'o\\377dd')\"",
        changes=True,
    )
    assert [result.exit_code for result in done.results] == [0] * 5
    assert done.changes == {
        "a.txt": FileData(b"two\n"),
        "run": FileData(b"x", executable=True),
        "new/deep/file": FileData(b"\0"),
        "b/c.py": None,
    }
    assert sorted(done.refused) == ["'o\\udcffdd'", "hidden", "link", "out", "pipe"]
    assert as_it_lies(files) == before


def test_what_a_command_prints_is_bounded_and_what_it_leaves_running_is_not_waited_for(
    files: Path,
) -> None:
    done = executed(
        files,
        "echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo last",
        "sleep 10000 & echo started",
        "printf '\\303\\251%.0s' 1 2 3; printf '\\377'",
        characters=1000,
    )
    first, second, third = done.results
    assert first.output.startswith("first\nxxx")
    assert first.output.endswith("xxxlast\n")
    assert len(first.output) == 1000 + len("\n[…]\n")
    assert (second.exit_code, second.output) == (0, "started\n")
    assert third.output == "ééé\ufffd"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("kill -9 $PPID", "ended from within"),
        ("head -c 900000000 /dev/zero >big; sleep 1; cat big big >more", "No space left"),
        ("rm -rf ../result; mkdir ../result", "ended from within"),
        ("python -c 'x = bytearray(2 << 30)' ; exit 0", ""),
    ],
)
def test_commands_that_end_what_runs_them_come_to_nothing(
    files: Path, command: str, why: str
) -> None:
    done = executed(files, command, changes=True)
    assert why in done.ended
    if why:
        assert (done.results, done.changes) == ((), {})


def test_a_command_that_never_ends_is_ended(files: Path) -> None:
    done = executed(files, "sleep 10000", limits=replace(QUICK, wall_s=2))
    assert (done.ended, done.results) == ("They took more than 2 s.", ())


def test_a_command_that_forks_without_end_is_bounded(files: Path) -> None:
    fork = "f() { f | f & }; f; exit 0"
    done = executed(files, fork, "echo still", limits=replace(QUICK, wall_s=5, processes=40))
    assert done.ended or done.results[-1].exit_code in (0, 2, 254)


def test_pytest_writes_a_report_of_its_own_and_another_command_none(files: Path) -> None:
    write_files(files, {"test_x.py": "def test_one():\n    assert 1\n"})
    alone = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest -q -p no:cacheprovider"
    done = executed(files, f"{alone} test_x.py", "echo no", reports=True)
    assert done.results[0].exit_code == 0
    assert b'name="test_one"' in done.reports[0]
    assert done.reports[1] == b""


def environment_at(folder: Path) -> Path:
    """Make a virtual environment without pip, and with a program of its own."""
    made = [sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(folder)]
    subprocess.run(made, check=True)
    program = folder / "bin" / "hello"
    program.write_text(f"#!{folder}/bin/python\nimport sys\nprint('hello', sys.prefix)\n")
    program.chmod(0o755)
    return folder / "bin" / "python"


def test_an_environment_in_the_users_folder_is_found_at_its_place(
    tmp_path: Path, files: Path
) -> None:
    place = tmp_path / "project"
    python = environment_at(place / ".venv")
    done = executed(
        files,
        "hello; command -v python; touch .venv/x; ls -d .venv/bin",
        place=str(place),
        python=str(python),
        changes=True,
    )
    (result,) = done.results
    assert result.output.startswith(f"hello {place}/.venv\n{python}\n")
    assert not (place / ".venv" / "x").exists()
    assert (done.changes, done.refused) == ({}, {})


def test_an_environment_elsewhere_is_found_at_its_place(tmp_path: Path, files: Path) -> None:
    python = environment_at(tmp_path / "environment")
    (result,) = executed(files, "hello; command -v python", python=str(python)).results
    assert result.output == f"hello {tmp_path}/environment\n{python}\n"


def test_an_interpreter_that_is_none_is_refused_with_what_to_do(
    tmp_path: Path, files: Path
) -> None:
    with pytest.raises(InputError, match="is no program"):
        executed(files, "true", python=str(tmp_path / "nothing"))
    program = write_files(tmp_path, {"python": "#!/bin/sh\n"}) / "python"
    program.chmod(0o755)
    assert "not in a folder bin" in interpreter_problem(str(program))
    assert interpreter_problem(sys.executable) == ""


def as_left(monkeypatch: pytest.MonkeyPatch, data: bytes | None) -> None:
    """Have the sandbox hand back what commands have forged."""

    async def run(program: Program, limits: SandboxLimits) -> ProgramResult:
        files = {} if data is None else {"result": data}
        return ProgramResult(0, None, "", "", None, 0.1, files, "namespaces")

    monkeypatch.setattr(execution, "run", run)


def header(**more: Any) -> Mapping[str, Any]:
    return {"results": [{"exit_code": 0, "output": "x"}], **more}


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 20,
        pack(None),
        pack([1]),
        pack(header()),
        pack(header(), [b"", b"more"]),
        pack(header(results=[]), [b""]),
        pack(header(results=[{"exit_code": "x"}]), [b""]),
        pack(header(results=[{"exit_code": 0, "more": 1}]), [b""]),
        pack(header(changed={"a": 1}), [b""]),
        pack(header(gone=[str(n) for n in range(3000)]), [b""]),
        pack(header(refused=dict.fromkeys(map(str, range(3000)), "x")), [b""]),
        pack(header(changed=dict.fromkeys(map(str, range(3000)), False)), [b""] * 3001),
        (1 << 40).to_bytes(8, "big") + b"{}",
        (200_002).to_bytes(8, "big") + b"[" * 100_001 + b"]" * 100_001,
    ],
)
def test_what_is_forged_and_malformed_comes_to_nothing(
    files: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    as_left(monkeypatch, data)
    assert executed(files, "x", changes=True) == Executed(ended="What they left can't be read.")


def test_what_is_forged_is_bounded_like_what_is_true(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = header(results=[{"exit_code": 0, "output": "x" * 10_000}], changed={"a": False})
    as_left(monkeypatch, pack(long, [b"report", b"x" * (LARGEST_FILE + 1)]))
    done = executed(files, "x", changes=True, characters=100)
    assert len(done.results[0].output) < 120
    assert (done.reports, done.changes) == ((b"",), {})
    assert "4,194,304 bytes" in done.refused["a"]


def test_the_sandbox_hands_back_no_more_than_a_result_may_have(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ten(*_: object, **__: object) -> int:
        return 10

    monkeypatch.setattr(execution, "_most_bytes", ten)
    assert executed(files, "true").ended


def test_a_frame_is_read_as_it_was_written() -> None:
    head, blobs = unpack_from(io.BytesIO(pack(header(), [b"a", b""])).read)
    assert (head, blobs) == (header(), [b"a", b""])


def test_the_time_of_a_call_is_that_which_was_asked_for() -> None:
    limits = within(12)
    assert (limits.wall_s, limits.cpu_s) == (12, 12 * (os.cpu_count() or 1))
    assert limits.disk_bytes == LIMITS.disk_bytes
