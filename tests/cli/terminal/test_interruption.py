"""Ctrl-C and SIGTERM end a run cleanly, and say how to go on with it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from prefect_swarm.cli.terminal.interruption import interruptible
from prefect_swarm.errors import RunCancelledError
from prefect_swarm.flows.prefect_io.temporary_server import Server
from prefect_swarm.models.resolve import override_models
from prefect_swarm.store.events import BeganEvent
from prefect_swarm.store.folder import RunFolder
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ..conftest import EXAMPLES, Invoke

SIGNALS = [(signal.SIGINT, 130, "Cancelled."), (signal.SIGTERM, 143, "Cancelled by SIGTERM.")]


async def interrupted(number: signal.Signals, *, taken: bool = False) -> RunCancelledError:
    """Send this process a signal; where it is `taken`, a flow run that starts took it first."""
    async with interruptible(Server("nowhere"), lambda _: None) as interruption:
        if taken:
            signal.signal(number, signal.SIG_IGN)
            interruption.control.listener(BeganEvent())
        os.kill(os.getpid(), number)
        await asyncio.wait_for(interruption.control.cancel.wait(), 30)
        return interruption.error("Cancelled", "")


@pytest.mark.parametrize("taken", [False, True], ids=["at first", "once a flow runs"])
@pytest.mark.parametrize(("number", "code", "message"), SIGNALS)
def test_a_signal_cancels_what_runs(
    number: signal.Signals, code: int, message: str, taken: bool
) -> None:
    error = asyncio.run(interrupted(number, taken=taken))
    assert (error.exit_code, str(error)) == (code, message)


def test_afterwards_a_signal_means_what_it_meant() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    asyncio.run(interrupted(signal.SIGTERM))
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@pytest.mark.parametrize(("number", "code", "message"), SIGNALS)
def test_a_run_that_is_asked_to_end_says_how_to_resume_it(
    number: signal.Signals, code: int, message: str, invoke: Invoke, prefect_server: None
) -> None:
    asked: list[object] = []

    async def killer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        asked.append(messages)
        if len(asked) == 1:  # A second one would end this process at once.
            os.kill(os.getpid(), number)
        await asyncio.sleep(0)
        return ModelResponse(parts=[TextPart("Here it is.")])

    with override_models(worker=FunctionModel(killer), orchestrator=FunctionModel(killer)):
        result = invoke("run", "--plan", EXAMPLES / "uneven.json")
    assert result.exit_code == code, result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"{message} Resume with: prefect-swarm resume ")
    assert "TerminationSignal" not in result.stderr
    assert "Traceback" not in result.stderr
    assert RunFolder.find(last.split()[-1]).result() is None


@pytest.mark.parametrize(("number", "code", "message"), SIGNALS)
def test_a_signal_before_a_command_is_under_way_is_one_line(
    number: signal.Signals, code: int, message: str
) -> None:
    program = f"""
import os
from prefect_swarm.cli import app, main
app.app = lambda **_: os.kill(os.getpid(), {int(number)})
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (code, f"{message}\n", "")
