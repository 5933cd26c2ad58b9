"""Bad input gives one clear message, what to do about it, an exit code, and no traceback."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_swarm.cli.command import failure_of, show
from prefect_swarm.cli.terminal.interruption import Terminated
from prefect_swarm.errors import ContextTooSmallError, InputError, ModelError, RunCancelledError
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.resolve import override_models
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from .conftest import EXAMPLES, Invoke

InProcess = Callable[..., subprocess.CompletedProcess[str]]
NOWHERE = "http://127.0.0.1:9/api"
PLAN = {
    "objective": "Say something",
    "agents": [{"name": "Ann", "system_prompt": "You write."}],
    "steps": [{"id": "S1", "agent": "Ann", "prompt": "Say it"}],
}


def broken(**changes: object) -> str:
    return json.dumps({**PLAN, **changes})


def step(**changes: object) -> list[dict[str, object]]:
    return [{**PLAN["steps"][0], **changes}]  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("arguments", "message", "to_do"),
    [
        (["run", ""], "The objective is empty.", "State it"),
        (["run", "  "], "The objective is empty.", "State it"),
        (["plan", ""], "The objective is empty.", "State it"),
        (["run"], "There is nothing to run.", "Give an OBJECTIVE"),
        (["run", "--plan", "gone.json"], "The plan file gone.json can't be read", "Check the path"),
        (["run", "x", "--max-concurrency", "0"], "--max-concurrency got 0", "--help"),
        (
            ["run", "x", "--tier", "worker"],
            "--tier got 'worker'",
            "worker.max_output_tokens=500",
        ),
        (["run", "x", "--tier", "worker=2"], "--tier got worker=2", "worker.max_output_tokens="),
        (["run", "x", "--tier", "boss.timeout_s=2"], "--tier boss got 'boss'", "--help"),
        (["run", "x", "--tier", "worker.size=2"], "--tier worker.size got '2'", "--help"),
        (
            ["run", "x", "--tier", "worker.concurrency=0"],
            "--tier worker.concurrency got '0'",
            "--help",
        ),
        (["run", "--items", "gone.txt"], "--template is missing", "together"),
        (["run", "--template", "{item}"], "--items is missing", "together"),
        (["run", "--items", "gone.txt", "--template", "{item}"], "gone.txt can't be read", "path"),
        (["run", "--plan", "p", "--items", "i"], "--plan was given with --items", "one or the"),
        (["plan", "x", "--json", "--mermaid"], "both given", "one of them"),
        (["batch", "gone.jsonl"], "The file gone.jsonl can't be read", "Check the path"),
        (["inspect", "12345678"], "No run '12345678' is stored", "There are no runs yet"),
        (["resume", "12345678"], "No run '12345678' is stored", "There are no runs yet"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], message: str, to_do: str, invoke: Invoke
) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert to_do in result.stderr.partition(message)[2]
    assert "Traceback" not in result.stderr
    assert "--json" in arguments or result.stdout == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("", "is not JSON"),
        ("[]", "breaks a rule"),
        (broken(steps=[]), "breaks a rule: steps"),
        (broken(steps=step(agent="Bob")), "step S1 is assigned to an unknown agent 'Bob'"),
        (broken(steps=step(depends_on=["S1"])), "step S1 depends on itself"),
        (broken(steps=step(depends_on=["S2"])), "depends on S2, which is not a step"),
        (broken(steps=step(gates=["magic"])), "unknown gate 'magic'"),
        (broken(colour="red"), "colour"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_explained(
    text: str, message: str, tmp_path: Path, invoke: Invoke
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    result = invoke("run", "--plan", path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert str(path) in result.stderr
    assert "prefect-swarm docs plan_language" in result.stderr


def test_a_plan_with_more_steps_than_allowed_is_refused(invoke: Invoke) -> None:
    result = invoke("plan", "--plan", EXAMPLES / "uneven.json", "--max-steps", "2")
    assert result.exit_code == 2
    assert "5 steps are more than the limit of 2" in result.stderr


def test_a_batch_without_lines_is_refused(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("\n\n")
    result = invoke("batch", path)
    assert result.exit_code == 2
    assert "has no lines" in result.stderr


def test_a_batch_is_not_written_over_its_own_input(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('"x"\n')
    result = invoke("batch", path, "--output", path)
    assert result.exit_code == 2
    assert "is the input too" in result.stderr
    assert path.read_text() == '"x"\n'


def test_bytes_that_are_no_text_are_refused(invoke: Invoke) -> None:
    result = invoke("plan", "caf\udce9")
    assert result.exit_code == 2
    assert "is not UTF-8 text" in result.stderr


def test_an_orchestrator_that_is_not_there_is_named(invoke: Invoke) -> None:
    result = invoke("plan", "x", "--model", "openai:far@http://127.0.0.1:9/v1")
    assert result.exit_code == 1
    assert "127.0.0.1:9/v1/ can't be reached for far" in result.stderr
    assert "Internal error" not in result.stderr


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("openai:gpt-5", "The model 'openai:gpt-5' has no key.\n  Set the `OPENAI_API_KEY`"),
        ("openai:m@http://127.0.0.1:9/v1#NO_KEY", "environment variable NO_KEY, which is not set"),
        ("nonsense", "There is no model 'nonsense'."),
        ("block:nothing", "block:nothing is not a block's name"),
        ("llamacpp:/gone.gguf", "/gone.gguf doesn't exist"),
    ],
)
def test_a_model_that_can_not_be_had_as_it_is_named_is_wrong_settings(
    model: str, message: str, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("NO_KEY", raising=False)
    result = invoke("plan", "x", "--model", model)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_setting_that_is_not_allowed_is_named(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_SANDBOX", "off")
    result = invoke("runs")
    assert result.exit_code == 2
    assert "The setting PREFECT_INTEGRATIONS_SWARM_SANDBOX is 'off'" in result.stderr


def test_a_setting_of_prefects_that_can_not_be_read_is_named(
    in_process_of_its_own: InProcess,
) -> None:
    far = ("--model", "openai:far@http://127.0.0.1:9/v1")
    done = in_process_of_its_own("run", "x", *far, PREFECT_LOGGING_LEVEL="LOUD")
    assert done.returncode == 2
    assert "Prefect's settings can't be read" in done.stderr
    assert "LOUD" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_message_can_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    error = ModelError("far said \x1b[2J", "Ask \x9b1m others.")
    show(error, failure_of(error), debug=False)
    assert capsys.readouterr().err == "Error: far said \\u001b[2J\n  Ask \\u009b1m others.\n"


def test_a_model_file_that_is_missing_is_named(invoke: Invoke) -> None:
    result = invoke("run", "x", "--model", "llamacpp:/gone/model.gguf")
    assert result.exit_code == 2
    assert "The model file /gone/model.gguf doesn't exist." in result.stderr


def test_a_model_file_of_another_format_is_named(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"PK\x03\x04 and so on")
    result = invoke("run", "x", "--coder", f"llamacpp:{path}")
    assert result.exit_code == 2
    assert "Tier coder" in result.stderr
    assert "is not GGUF" in result.stderr


def test_a_truncated_model_file_is_named(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "model.gguf"
    with demo_model_path().open("rb") as whole:
        path.write_bytes(whole.read(2_000_000))
    result = invoke("run", "x", "--model", f"llamacpp:{path}")
    assert result.exit_code == 2
    assert "ends too early" in result.stderr
    assert "Download it again" in result.stderr


def test_a_prefect_server_that_is_not_there_is_named_quickly(invoke: Invoke) -> None:
    with temporary_settings({PREFECT_API_URL: NOWHERE}):
        result = invoke("run", "x")
    assert result.exit_code == 1
    assert f"No Prefect server answers at {NOWHERE}" in result.stderr
    assert "prefect server start" in result.stderr


def test_as_json_a_failure_is_json_too(invoke: Invoke) -> None:
    result = invoke("run", "", "--json")
    assert json.loads(result.stdout) == {
        "status": "error",
        "kind": "InputError",
        "problem": "The objective is empty.",
        "fix": "State it in a sentence.",
    }


def nothing(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("")])


async def never(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
    await asyncio.Event().wait()
    raise AssertionError


def too_small(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
    raise ContextTooSmallError("The prompt has 900 tokens, the context 512.", "Shorten the prompt.")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (nothing, "FORMAT"),
        (never, "TIMEOUT"),
        (too_small, "The prompt has 900 tokens, the context 512. Shorten the prompt."),
    ],
    ids=["answers with nothing", "never stops", "has too small a context"],
)
def test_a_model_that_can_not_do_it_fails_the_run_and_says_why(
    answer: Callable[..., ModelResponse],
    message: str,
    tmp_path: Path,
    invoke: Invoke,
    prefect_server: None,
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(broken())
    with override_models(worker=FunctionModel(answer)):
        result = invoke(
            "run", "--plan", path, "--max-attempts", 1, "--step-timeout-s", 0.2, "--json"
        )
    assert result.exit_code == 1
    assert json.loads(result.stdout)["status"] == "failed"
    assert message in result.stderr
    assert "Look closer: prefect-swarm inspect" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "problem"),
    [
        (KeyboardInterrupt(), 130, "Cancelled."),
        (Terminated(), 143, "Cancelled by SIGTERM."),
        (RunCancelledError("Cancelled.", "Resume it."), 130, "Cancelled."),
        (ZeroDivisionError("by\nzero"), 1, "Internal error: ZeroDivisionError: by zero"),
        (RuntimeError(), 1, "Internal error: RuntimeError: no message"),
    ],
)
def test_every_exception_has_a_message_and_a_code(
    error: BaseException, code: int, problem: str
) -> None:
    failure = failure_of(error)
    assert (failure.exit_code, failure.problem) == (code, problem)


@pytest.mark.parametrize("kind", [RuntimeError, InputError])
def test_what_a_server_repeats_of_a_request_is_not_printed_whole(
    kind: type[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    error = kind("422: " + "what was sent " * 100_000)
    failure = failure_of(error)
    assert len(failure.problem) < 10_000
    assert failure.problem.startswith(("Internal error: RuntimeError: 422", "422"))
    show(error, failure, debug=True)
    assert len(capsys.readouterr().err) < 40_000


def test_a_user_sees_no_traceback_unless_asked_for(in_process_of_its_own: InProcess) -> None:
    plain = in_process_of_its_own("run", "", "--json")
    assert plain.returncode == 2
    assert plain.stderr.splitlines() == [
        "Error: The objective is empty.",
        "  State it in a sentence.",
    ]
    debug = in_process_of_its_own("run", "", "--debug")
    assert debug.returncode == 2
    assert debug.stderr.startswith("Traceback")


def test_a_user_whose_server_is_down_is_told_so(in_process_of_its_own: InProcess) -> None:
    done = in_process_of_its_own("run", "x", PREFECT_API_URL=NOWHERE)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"Error: No Prefect server answers at {NOWHERE}")
    assert len(done.stderr.splitlines()) == 2
