"""Guarantees of the sandbox for an honest program and its caller."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from prefect_swarm.errors import InputError, SandboxError
from prefect_swarm.gates import sandbox
from prefect_swarm.gates.sandbox import Program, ProgramResult, SandboxLimits
from prefect_swarm.gates.sandbox import probe as sandbox_probe
from prefect_swarm.gates.sandbox import spawn as sandbox_spawn
from prefect_swarm.gates.sandbox.confinement import collect_visible_files
from prefect_swarm.gates.sandbox.spawn import SandboxBackend, run_on
from sandboxes import BACKENDS, PROJECT, backend_named, processes_with

# Room for a busy machine; no test reaches these.
LIMITS = SandboxLimits(cpu_s=60, wall_s=120)
PAUSE = "import signal; signal.pause()"


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> SandboxBackend:
    return backend_named(request.param)


def python(
    code: str, backend: SandboxBackend, limits: SandboxLimits = LIMITS, *, stdin: bytes = b""
) -> ProgramResult:
    program = Program(("python", "main.py"), {"main.py": code.encode()}, stdin)
    return asyncio.run(run_on(backend, program, limits))


def test_a_program_prints(backend: SandboxBackend) -> None:
    result = python("import sys; print('out'); print('err', file=sys.stderr)", backend)
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 0)
    assert result.succeeded
    assert result.kind == backend.kind


def test_a_program_reads_its_input(backend: SandboxBackend) -> None:
    code = "import sys; print(len(sys.stdin.buffer.read()))"
    assert python(code, backend, stdin=b"x" * 1_000_000).stdout == "1000000\n"


def test_input_that_is_not_read_does_no_harm(backend: SandboxBackend) -> None:
    assert python("print('done')", backend, stdin=b"x" * 1_000_000).stdout == "done\n"


def test_the_installed_packages_are_there(backend: SandboxBackend) -> None:
    result = python("import pytest, pydantic; print(pytest.__name__)", backend)
    assert result.stdout == "pytest\n", result.stderr


def test_subprocesses_threads_and_temporary_files_work(backend: SandboxBackend) -> None:
    code = """
import multiprocessing, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(abs, range(-3, 0))))
print(subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, text=True).stdout)
with tempfile.NamedTemporaryFile() as file:
    print(file.write(b"temporary"))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, [-8]))
"""
    result = python(code, backend)
    assert result.stdout.split() == ["6", "7", "9", "[8]"], result.stderr


def test_a_shell_script_runs(backend: SandboxBackend) -> None:
    files = {"folder/script.sh": b"head -c 3 /dev/zero | wc -c; pwd > pwd"}
    program = Program(("sh", "folder/script.sh"), files, keep=("pwd",))
    result = asyncio.run(run_on(backend, program, LIMITS))
    assert (result.stdout.strip(), result.files) == ("3", {"pwd": b"/sandbox\n"})


def test_an_interpreter_below_a_temporary_folder_is_found(
    backend: SandboxBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        prefix = Path(folder)
        (prefix / "bin").mkdir()
        (prefix / "bin" / "tool").write_text("echo found")
        (prefix / "lib64").symlink_to("bin")
        prefix.chmod(0o755)
        shown = collect_visible_files([Path(sys.prefix), Path(sys.base_prefix), prefix], PROJECT)
        monkeypatch.setattr(sandbox_spawn, "find_visible_files", lambda: shown)
        script = f"sh {folder}/lib64/tool; cd /tmp; touch {folder}/bin/x y; ls y {folder}/bin"
        result = asyncio.run(run_on(backend, Program(("sh", "-c", script)), LIMITS))
    assert result.stdout.split() == ["found", "y", f"{folder}/bin:", "tool"]


def test_a_kept_file_comes_back(backend: SandboxBackend) -> None:
    code = "import os; os.mkdir('a'); open('a/b', 'wb').write(bytes(range(256)))"
    program = Program(("python", "-c", code), keep=("a/b", "missing"))
    assert asyncio.run(run_on(backend, program, LIMITS)).files == {"a/b": bytes(range(256))}


def test_a_command_that_is_not_there_ends_as_a_shell_would_have_it(backend: SandboxBackend) -> None:
    result = asyncio.run(run_on(backend, Program(("no-such-command",)), LIMITS))
    assert (result.exit_code, result.stderr) == (
        127,
        "no-such-command: No such file or directory\n",
    )


def test_the_environment_is_fixed(backend: SandboxBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSTARTUP", "x")
    result = python("import os; print(sorted(os.environ))", backend)
    assert "PYTHONSTARTUP" not in result.stdout
    assert "'PYTHONHASHSEED'" in result.stdout


def test_programs_run_side_by_side(backend: SandboxBackend) -> None:
    async def four() -> list[ProgramResult]:
        programs = [Program(("python", "-c", f"print({number})")) for number in range(4)]
        return await asyncio.gather(*(run_on(backend, each, LIMITS) for each in programs))

    assert [result.stdout for result in asyncio.run(four())] == ["0\n", "1\n", "2\n", "3\n"]


async def _started(marker: str) -> None:
    """Let others run until a process has the marker: there is no other sign of it outside."""
    async with asyncio.timeout(100):
        while not processes_with(marker):  # noqa: ASYNC110 - nothing else tells of it
            await asyncio.sleep(0)


def test_cancelling_ends_the_program(backend: SandboxBackend) -> None:
    marker = f"marker-{secrets.token_hex(8)}"

    async def cancel() -> None:
        program = Program(("python", "-c", PAUSE, marker))
        task = asyncio.create_task(run_on(backend, program, LIMITS))
        await _started(marker)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert processes_with(marker) == []

    asyncio.run(cancel())


def test_killing_the_caller_ends_the_program(backend: SandboxBackend) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    code = (
        "import asyncio, sys\n"
        "from prefect_swarm.gates.sandbox.launched import SandboxLimits, Program\n"
        "from prefect_swarm.gates.sandbox.spawn import SandboxBackend, run_on\n"
        f"program = Program(('python', '-c', {PAUSE!r}, '-'.join(sys.argv[1:])))\n"
        f"asyncio.run(run_on({backend!r}, program, SandboxLimits(wall_s=300)))\n"
    )
    # The caller's own command must not hold the marker as a whole.
    with subprocess.Popen([sys.executable, "-c", code, *marker.split("-")]) as caller:
        asyncio.run(_started(marker))
        watched = [os.pidfd_open(int(pid)) for pid in processes_with(marker)]
        caller.send_signal(signal.SIGKILL)
    for process in watched:
        assert select.select([process], [], [], 100)[0]
        os.close(process)


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "a\0b", "", "a//b", "./a"])
def test_a_path_outside_the_work_folder_is_refused(path: str) -> None:
    for program in (Program(("python",), {path: b""}), Program(("python",), keep=(path,))):
        with pytest.raises(InputError):
            asyncio.run(run_on(SandboxBackend("namespaces"), program, LIMITS))


def test_files_that_do_not_fit_are_refused() -> None:
    program = Program(("python",), {"a": b"x" * 100})
    with pytest.raises(InputError, match="100 bytes"):
        asyncio.run(run_on(SandboxBackend("namespaces"), program, SandboxLimits(disk_bytes=99)))


def test_this_machine_holds_a_sandbox() -> None:
    assert sandbox.backend_kind() in ("bubblewrap", "namespaces")
    assert asyncio.run(sandbox.run(Program(("python", "-c", "print(1)")), LIMITS)).stdout == "1\n"


def test_a_machine_that_holds_none_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_at_all() -> list[SandboxBackend]:
        return [SandboxBackend("bubblewrap", False, "/nonexistent")]

    monkeypatch.setattr(sandbox_probe, "candidates", none_at_all)
    sandbox_probe.clear_probe_cache()
    try:
        with pytest.raises(SandboxError, match="Install bubblewrap"):
            asyncio.run(sandbox.run(Program(("python", "-c", "print(1)"))))
    finally:
        sandbox_probe.clear_probe_cache()


def test_root_without_the_right_to_be_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be held as root")
    with pytest.raises(SandboxError, match="can't be held as root"):
        asyncio.run(run_on(SandboxBackend("namespaces", own_user=True), Program(("true",)), LIMITS))


def test_less_than_the_sandbox_must_be_asked_for_and_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_SANDBOX", "limits-only")
    with caplog.at_level(logging.WARNING):
        result = asyncio.run(sandbox.run(Program(("python", "-c", "print(1)")), LIMITS))
    assert (result.stdout, result.kind) == ("1\n", "limits-only")
    assert "sandbox is off" in caplog.text


def test_without_namespaces_a_daemon_is_ended_all_the_same() -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    code = "import os, signal\nif os.fork() == 0:\n    os.setsid()\n    signal.pause()\n"
    program = Program(("python", "-c", code, marker), keep=("x",))
    result = asyncio.run(run_on(SandboxBackend("limits-only"), program, LIMITS))
    assert (result.exit_code, processes_with(marker)) == (0, [])


def test_without_namespaces_the_wall_time_holds() -> None:
    program = Program(("python", "-c", PAUSE))
    result = asyncio.run(run_on(SandboxBackend("limits-only"), program, SandboxLimits(wall_s=0.3)))
    assert (result.exceeded, result.signal) == ("wall", signal.SIGKILL)


CROWD = """
import os, signal, sys, types
launcher = types.ModuleType("launcher")
launcher.__path__ = [sys.argv[1]]
sys.modules["launcher"] = launcher
from launcher.world import bound_processes
if os.getuid() == 0:
    print(bound_processes(4))
    os.setresgid(54321, 54321, 54321)
    os.setresuid(54321, 54321, 54321)  # nobody's, so that it has no other processes
else:
    print(False)
print(bound_processes(4))
children = []
try:
    for _ in range(12):
        children.append(os.fork())
        if children[-1] == 0:
            signal.pause()
except BlockingIOError:
    pass
for child in children:
    os.kill(child, signal.SIGKILL)
print(len(children))
"""


def test_without_namespaces_processes_are_bounded_for_all_but_root() -> None:
    command = [sys.executable, "-c", CROWD, str(PROJECT / "gates" / "sandbox" / "launcher")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    of_root, of_user, started = done.stdout.split()
    assert (of_root, of_user) == ("False", "True")
    assert int(started) == 4 if os.getuid() == 0 else int(started) < 12
