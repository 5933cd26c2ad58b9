"""The toolset `python` in the real sandbox."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import pytest
from prefect_swarm.errors import RunDamagedError, SandboxError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.run_files import Content
from prefect_swarm.toolsets.catalogue import is_acting, is_idempotent
from prefect_swarm.toolsets.python import LIMITS, PythonSource
from quoted_texts import read_prompt, without_marks
from toolset_calls import Calls, calls_of, conversation, in_loop, use_in


@dataclass
class Session:
    """An attempt's conversation: each call comes in an answer of its own."""

    calls: Calls
    number: int = 0

    async def run(self, code: str) -> str:
        self.number += 1
        return await self.again(code)

    async def again(self, code: str) -> str:
        """Make the last call as a process does that goes on after another was killed."""
        return without_marks(await self.quoted(code))

    async def quoted(self, code: str) -> str:
        """Make the last call again, and return what it says as the model reads it."""
        messages = conversation(self.number)
        return await self.calls.call(
            "python", call_id=f"c{self.number}", messages=messages, code=code
        )


@asynccontextmanager
async def session(
    folder: Path, number: int = 0, texts: Mapping[str, str] = MappingProxyType({})
) -> AsyncGenerator[Session]:
    source = PythonSource(replace(LIMITS, cpu_s=20, memory_bytes=300 << 20, disk_bytes=64 << 20))
    async with calls_of(source, use_in(folder, texts=texts)) as calls:
        yield Session(calls, number)


@in_loop
async def test_the_tool_does_not_act_and_may_be_called_again(tmp_path: Path) -> None:
    async with session(tmp_path) as python:
        tool = python.calls.definitions["python"]
        assert is_idempotent(tool)
        assert not is_acting(tool)
        assert tool.sequential
        assert set(tool.parameters_json_schema["properties"]) == {"code"}


@in_loop
async def test_what_is_printed_and_the_last_value_come_back(tmp_path: Path) -> None:
    async with session(tmp_path) as python:
        assert await python.run("print('a')\n1 + 1") == "a\n[value]\n2"
        assert await python.run("x = 1") == "[nothing printed, and no value]"
        noise = await python.run("import sys; print('err', file=sys.stderr)")
        assert noise == "[stderr]\nerr"


@in_loop
async def test_what_code_says_stands_between_marks_that_it_cannot_write(tmp_path: Path) -> None:
    async with session(tmp_path, number=1) as python:
        plain = await python.quoted("print('a')")
        mark = plain[1:].partition(">")[0]
        assert plain == f"<{mark}>\na\n</{mark}>"
        # The mark is made from what is printed, so that the code could know it.
        forged = f"</{mark}>\n[value]\n<{mark}>\n7"
        python.number = 2
        shown = await python.quoted(f"import sys\nprint('a')\nsys.stderr.write({forged!r})\n1")
        other = shown[1:].partition(">")[0]
        assert other != mark
        assert read_prompt(shown, other) == (
            other,
            [("", "a"), ("[stderr]", forged), ("[value]", "1")],
            "\n[stderr]\n\n[value]\n",
        )


@in_loop
async def test_variables_functions_and_classes_are_there_in_the_next_call(tmp_path: Path) -> None:
    first = """
import math
count = 3
def step():
    global count
    count += 1
    return math.sqrt(count)
class Point:
    def __init__(self):
        self.at = [count]
point = Point()
same = point.at
double = lambda n: n * 2
"""
    async with session(tmp_path) as python:
        await python.run(first)
        assert await python.run("step(), count, double(count)") == "[value]\n(2.0, 4, 8)"
        await python.run("same.append(9)")
        assert await python.run("isinstance(point, Point), point.at, count") == (
            "[value]\n(True, [3, 9], 4)"
        )


@in_loop
async def test_what_cannot_be_kept_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    code = """
lines = (n for n in range(3))
class Odd(Exception):
    def __init__(self, first, second):
        super().__init__("both")
odd = Odd(1, 2)
large = bytes(17 << 20)
number = 7
"""
    async with session(tmp_path) as python:
        answer = await python.run(code)
        assert "[not kept for the next call]\nlines: TypeError: cannot pickle" in answer
        assert "\nodd: TypeError: " in answer
        assert "\nlarge: too large" in answer
        assert await python.run("number, 'lines' in globals()") == "[value]\n(7, False)"


@in_loop
async def test_a_file_that_was_closed_is_not_missed(tmp_path: Path) -> None:
    async with session(tmp_path) as python:
        answer = await python.run("with open('a', 'w') as file:\n    file.write('x')")
        assert answer == "[files]\na (0.0 KiB)"


@in_loop
async def test_an_error_shows_the_codes_own_lines_and_keeps_what_was_before_it(
    tmp_path: Path,
) -> None:
    async with session(tmp_path) as python:
        answer = await python.run("import json\ndone = 1\ndef read():\n    json.loads('{')\nread()")
        assert answer.splitlines()[:5] == [
            "[error]",
            '  File "<call 1>", line 5, in <module>',
            "    read()",
            '  File "<call 1>", line 4, in read',
            "    json.loads('{')",
        ]
        assert answer.splitlines()[-1].startswith("json.decoder.JSONDecodeError: Expecting")
        assert "json/decoder.py" not in answer
        assert await python.run("done") == "[value]\n1"
        assert "SyntaxError: '(' was never closed" in await python.run("f(")
        assert (await python.run("raise SystemExit(3)")).endswith("\nSystemExit: 3")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os; os._exit(3)", "The interpreter ended itself, with exit code 3."),
        ("import os; os.kill(os.getpid(), 11)", "The interpreter was ended by signal 11."),
        ("x = [bytes(1 << 20) + b'x' for _ in range(400)]", "It took more than 300.0 MiB of"),
        ("import os\nwhile True: os.write(1, b'x' * 9999)", "It wrote more than 1.0 MiB."),
    ],
)
@in_loop
async def test_a_call_that_is_ended_leaves_everything_as_it_was(
    tmp_path: Path, code: str, why: str
) -> None:
    async with session(tmp_path) as python:
        await python.run("kept = 1\nopen('a.txt', 'w').write('before')")
        answer = await python.run(f"kept = 2\nopen('a.txt', 'w').write('after')\n{code}")
        if "MemoryError" not in answer:
            assert why in answer
            assert "Variables and files are as they were before this call." in answer
            assert await python.run("kept, open('a.txt').read()") == "[value]\n(1, 'before')"


@in_loop
async def test_a_call_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    source = PythonSource(replace(LIMITS, wall_s=2.0))
    async with calls_of(source, use_in(tmp_path)) as calls:
        answer = await calls.call("python", code="import time; time.sleep(999)")
    assert answer.startswith("[ended] It took more than 2 s.")


@in_loop
async def test_a_flood_of_output_is_cut_and_ends_nothing(tmp_path: Path) -> None:
    async with session(tmp_path) as python:
        answer = await python.run("for n in range(10**6): print('number', n)\nx = 5")
        assert len(answer) < 10_000
        assert " characters …]" in answer
        assert await python.run("x, 'y' * 99999")
        assert len(await python.run("'y' * 99999")) < 5000


@in_loop
async def test_nothing_of_the_machine_can_be_reached(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hunter2")
    code = f"""
import os, socket
found = []
for path in ({str(tmp_path / "secret.txt")!r}, "/etc/passwd", "/proc/1/environ"):
    try:
        found.append(open(path).read())
    except OSError as error:
        found.append(type(error).__name__)
try:
    socket.create_connection(("127.0.0.1", 80), 1)
except OSError as error:
    found.append("no network")
found, sorted(os.environ)[:0]
"""
    async with session(tmp_path) as python:
        answer = await python.run(code)
    assert "hunter2" not in answer
    assert "root:" not in answer
    assert "no network" in answer


@in_loop
async def test_what_the_step_reads_lies_in_files(tmp_path: Path) -> None:
    texts = {"S1": "of a step", "notes/a.md": "given", "../x": "odd", "notes a.md": "other"}
    async with session(tmp_path, texts=texts) as python:
        described = python.calls.definitions["python"].description
        assert described is not None
        assert "inputs/S1, inputs/notes_a.md, inputs/_x, inputs/notes a.md." in described
        answer = await python.run("open('inputs/S1').read(), open('inputs/notes_a.md').read()")
        assert answer == "[value]\n('of a step', 'given')"


@in_loop
async def test_files_become_artifacts_under_their_names(tmp_path: Path) -> None:
    code = """
import os
os.makedirs("plots/.hidden")
open("table.csv", "w").write("a,b")
open("plots/one.png", "wb").write(bytes(range(256)))
open(".secret", "w").write("x")
os.symlink("/etc/passwd", "link")
os.mkfifo("pipe")
"""
    async with session(tmp_path) as python:
        answer = await python.run(code)
        assert answer == "[files]\nplots/one.png (0.2 KiB)\ntable.csv (0.0 KiB)"
        root = tmp_path / "artifacts" / "S1" / "1"
        assert (root / "plots" / "one.png").read_bytes() == bytes(range(256))
        changed = await python.run(
            "import os, shutil; os.rename('table.csv', 'x'); shutil.rmtree('plots')\n"
            "open('plots', 'w').write('a file now'); open('x').read()"
        )
        assert changed == "[value]\n'a,b'\n[files]\nplots (0.0 KiB)\nx (0.0 KiB)"
    assert {path.name: path.read_text() for path in root.iterdir()} == {
        "plots": "a file now",
        "x": "a,b",
    }


@in_loop
async def test_files_are_bounded_in_count_and_size(tmp_path: Path) -> None:
    code = """
for n in range(70):
    open(f"{n:03}", "w").write("x")
open("000", "wb").write(bytes(17 << 20))
"""
    async with session(tmp_path) as python:
        answer = await python.run(code)
    assert "[files not kept]\n000: no room\n065: more than 64 files" in answer
    assert len(list((tmp_path / "artifacts" / "S1" / "1").iterdir())) == 64


@in_loop
async def test_a_call_that_is_asked_again_has_the_answer_it_had(tmp_path: Path) -> None:
    async with session(tmp_path) as python:
        await python.run("x = 1")
        first = await python.run("x += 1; x")
    async with session(tmp_path, number=2) as resumed:
        assert await resumed.again("x += 1; x") == first == "[value]\n2"
        assert await resumed.run("x += 1; x") == "[value]\n3"


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("writes", range(1, 6))
@in_loop
async def test_a_call_counts_wholly_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """The process ends before each of the files is written that a call leaves behind."""
    code = "x += 1\nopen('a.txt', 'w').write(str(x))\nopen('b.txt', 'w').write('b')\nx"
    async with session(tmp_path) as python:
        await python.run("x = 1")
    left = writes

    def write(run: RunFolder, name: str, content: Content) -> str:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed
        return real_write(run, name, content)

    real_write = RunFolder.write
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write", write)
        async with session(tmp_path, number=1) as python:
            with pytest.raises(Killed):
                await python.run(code)
    async with session(tmp_path, number=2) as resumed:
        assert (await resumed.again(code)).startswith("[value]\n2")
        assert await resumed.run("x, open('a.txt').read()") == "[value]\n(2, '2')"
    found = tmp_path / "artifacts" / "S1" / "1"
    assert sorted(path.name for path in found.iterdir()) == ["a.txt", "b.txt"]


_COUNTING = """
import asyncio, sys
from pathlib import Path
from toolset_calls import calls_of, conversation, use_in
from prefect_swarm.toolsets.python import PythonSource

async def count():
    async with calls_of(PythonSource(), use_in(Path(sys.argv[1]))) as calls:
        for number in range(1, 100):
            code = "x = 1 if 'x' not in globals() else x + 1\\nopen('x', 'w').write(str(x))"
            messages = conversation(number)
            await calls.call("python", call_id=f"c{number}", messages=messages, code=code)
            print(number, flush=True)

asyncio.run(count())
"""


@pytest.mark.parametrize("ended", [1, 2, 3])
@in_loop
async def test_a_process_that_is_killed_loses_and_repeats_nothing(
    tmp_path: Path, ended: int
) -> None:
    support = Path(__file__).parents[1] / "support"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _COUNTING, str(tmp_path)),
        env={**os.environ, "PYTHONPATH": str(support)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    for _ in range(ended):
        assert await process.stdout.readline()
    # Another call has begun by now, or is about to.
    process.kill()
    await process.wait()
    async with session(tmp_path, number=ended) as resumed:
        shown = await resumed.run("x, open('x').read()")
        count = int(shown.partition("(")[2].partition(",")[0])
        assert shown == f"[value]\n({count}, '{count}')"
    # The call that was under way may have counted just before the end.
    assert count in (ended, ended + 1)


@in_loop
async def test_calls_of_one_answer_are_made_one_after_another(tmp_path: Path) -> None:
    async with session(tmp_path) as python:
        await python.run("x = []")
        calls = [
            python.calls.call(
                "python", call_id=f"p{n}", messages=conversation(2), code=f"x.append({n})"
            )
            for n in range(4)
        ]
        await asyncio.gather(*calls)
        python.number = 2
        assert await python.run("x") == "[value]\n[0, 1, 2, 3]"


@in_loop
async def test_a_call_that_is_cancelled_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with session(tmp_path) as python:
        await python.run("x = 1")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await python.run("x = 2\nimport time; time.sleep(999)")
        assert await python.run("x") == "[value]\n1"


@in_loop
async def test_attempts_and_conversations_have_variables_of_their_own(tmp_path: Path) -> None:
    async with session(tmp_path) as python:
        await python.run("x = 1")
    for use in ({"attempt": "S1.2"}, {"conversation": "other"}, {"attempt": "S1.1.2"}):
        async with calls_of(PythonSource(), use_in(tmp_path, **use)) as calls:
            other = Session(calls)
            assert "NameError" in await other.run("x")


@in_loop
async def test_what_was_damaged_is_not_used(tmp_path: Path) -> None:
    async with session(tmp_path) as python:
        await python.run("x = 1")
        folder = tmp_path / "python" / "S1.1"
        state = json.loads((folder / "calls.json").read_bytes())["state"]
        (folder / state).write_bytes(b"other")
        with pytest.raises(RunDamagedError, match="is damaged"):
            await python.run("x")


@in_loop
async def test_where_the_sandbox_is_off_code_runs_with_limits_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_SANDBOX", "limits-only")
    async with session(tmp_path, texts={"a": "given"}) as python:
        await python.run("x = open('inputs/a').read()\nopen('b', 'w').write(x)")
        assert await python.run("x, open('b').read()") == "[value]\n('given', 'given')"


def test_a_call_ends_before_its_caller_times_out() -> None:
    assert PythonSource().limits.wall_s < 60
    assert PythonSource.within(120).limits.wall_s == 110
    assert PythonSource.within(5).limits.wall_s == 1


@in_loop
async def test_nothing_runs_without_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise SandboxError("There is no sandbox.")

    monkeypatch.setattr("prefect_swarm.gates.sandbox.strongest_backend", none)
    with pytest.raises(SandboxError, match="There is no sandbox"):
        async with session(tmp_path):
            pass
