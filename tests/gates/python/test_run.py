"""Jobs in the sandbox, and the report on them."""

import asyncio
import hmac
import json
import signal
from collections.abc import Sequence

import pytest
from prefect_swarm.errors import GateError
from prefect_swarm.gates.python import run as python_run
from prefect_swarm.gates.python.run import Calls, RunReport, Tests, run_jobs
from prefect_swarm.gates.sandbox import ProgramResult, SandboxLimits

KEY = b"k" * 32
BODY = json.dumps(
    [
        {
            "runner": "calls",
            "done": True,
            "late": False,
            "exit_code": 0,
            "signal": None,
            "cpu_s": 0.1,
        }
        | {"records": [{"call": 0, "gave": 1}, {"finished": True}]}
    ]
)


def signed(body: str, key: bytes = KEY) -> str:
    return hmac.new(key, body.encode(), "sha256").hexdigest()


def key(size: int) -> bytes:
    assert size == len(KEY)
    return KEY


def reported(monkeypatch: pytest.MonkeyPatch, stdout: str, **changes: object) -> RunReport:
    fields = {"exit_code": 0, "signal": None, "stderr": "no pytest"}
    rest = {"exceeded": None, "duration_s": 1.0, "files": {}, "kind": "namespaces"}

    async def run(runners: Sequence[str], stdin: bytes, limits: SandboxLimits) -> ProgramResult:
        assert stdin.endswith(KEY)
        return ProgramResult(**{**fields, **rest, "stdout": stdout, **changes})  # type: ignore[arg-type]

    monkeypatch.setattr(python_run, "run_supervisor", run)
    monkeypatch.setattr(python_run.secrets, "token_bytes", key)
    return asyncio.run(run_jobs({}, [Calls(("m",))]))


def test_a_report_with_the_supervisors_signature_is_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = reported(monkeypatch, f"ready\n{signed(BODY)}\n{BODY}\n")
    assert report.results is not None
    assert report.results[0].records[0].gave == 1


@pytest.mark.parametrize(
    "stdout",
    [
        "ready\n",
        f"ready\n{BODY}\n",
        f"ready\n{signed(BODY, b'another key')}\n{BODY}\n",
        f"ready\n{signed(BODY)}\n{BODY.replace('1', '2')}\n",
        f"ready\n{signed(BODY)}\n{BODY}\nmore\n",
        f"ready\nmore\n{signed(BODY)}\n{BODY}\n",
        f"ready\n{signed('[1]')}\n[1]\n",
        "ready\n\u00e9\n",
    ],
)
def test_any_other_report_is_not(monkeypatch: pytest.MonkeyPatch, stdout: str) -> None:
    assert reported(monkeypatch, stdout).results is None


def test_a_supervisor_that_does_not_start_is_no_fault_of_the_artifact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(GateError, match="no pytest"):
        reported(monkeypatch, "")


def test_what_computes_for_too_long_is_ended_and_says_where() -> None:
    code = "def f(x):\n    while True:\n        pass\n"
    report = asyncio.run(run_jobs({"m.py": code}, [Calls(("m",), ("f(1)",), cpu_s=1)]))
    assert report.results is not None
    result = report.results[0]
    assert (result.done, result.late) == (False, False)
    assert result.signal == signal.SIGXCPU
    assert result.records[-1].starts == "f(1)"


def test_what_waits_for_too_long_is_ended() -> None:
    code = "import threading\n\ndef f():\n    threading.Event().wait()\n"
    report = asyncio.run(run_jobs({"m.py": code}, [Calls(("m",), ("f()",), wall_s=0.5)]))
    assert report.results is not None
    assert report.results[0].late


def test_a_job_that_is_not_done_is_the_last() -> None:
    jobs = [Calls(("m",)), Calls(("n",))]
    report = asyncio.run(run_jobs({"m.py": "raise ValueError", "n.py": ""}, jobs))
    assert report.results is not None
    assert len(report.results) == 1


def test_the_artifacts_process_knows_neither_the_key_nor_the_streams() -> None:
    code = """
import os
def seen():
    parent, found = os.getppid(), []
    for path in (f"/proc/{parent}/fd/0", f"/proc/{parent}/fd/1", f"/proc/{parent}/mem"):
        try:
            open(path).close()
            found.append(path)
        except OSError:
            pass
    return [os.read(0, 10), *found]
"""
    report = asyncio.run(run_jobs({"m.py": code}, [Calls(("m",), ("seen()",))]))
    assert report.results is not None
    gave = [record.gave for record in report.results[0].records if record.call == 0]
    assert gave == [{"list": [{"other": ["b''"]}]}]


MODULE = "def f():\n    return 1\n"
EMPTY = "def f():\n    return __emptied__()\n"


def after_a_pass(test: str) -> list[bool | None]:
    """Run a test and then, without its code, once more; return what each run says of noticing."""
    text = f"from m import f\n\n\ndef test_f():\n    {test}\n"
    files = {"test_m.py": ("test_m", text)}
    jobs = [Tests(files), Tests(files, emptied={"m.py": EMPTY}, canary="test_canary.py")]
    report = asyncio.run(run_jobs({"m.py": MODULE, "test_m.py": text}, jobs))
    assert report.results is not None
    return [result.records[0].noticed for result in report.results]


@pytest.mark.parametrize(
    ("test", "noticed"),
    [
        ("assert f() == 1", True),
        ("assert f() is not None", True),
        ("assert f()", True),
        ("while not f(): pass", True),
        ("f()", False),
        ("assert f() == f()", False),
    ],
)
def test_tests_notice_that_their_code_is_gone_or_they_do_not(test: str, noticed: bool) -> None:
    assert after_a_pass(test) == [None, noticed]


def test_after_a_failure_nothing_is_emptied() -> None:
    assert after_a_pass("assert f() == 2") == [None]
