"""The artifacts that the gates' bench takes the time of."""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.gates import (
    Subject,
    build_pipeline,
    check,
    find_gate,
    run_pipeline,
    select_gates,
)
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.engine import close_engines
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, UserPromptPart

GATES = Path(__file__).parents[2] / "benches" / "gates"


@pytest.fixture
def artifacts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(GATES)
    return import_module("artifacts")


def stopped_by(subject: Subject) -> Any:
    pipeline = build_pipeline(select_gates(subject.output))
    result = asyncio.run(run_pipeline(pipeline, subject, lambda g, s, r: check(g, s, required=r)))
    return result.stopped_by


@pytest.mark.parametrize("kind", ["json", "shell", "text", "python"])
def test_an_artifact_passes_its_line(artifacts: Any, kind: str) -> None:
    assert stopped_by(artifacts.subject_of(kind, 7)) is None


def test_an_artifact_that_brings_tests_passes_them(artifacts: Any) -> None:
    assert stopped_by(artifacts.tested(7)) is None


@pytest.mark.parametrize(("made", "gate"), [("joined", "integration"), ("asked_form", "form")])
def test_an_artifact_that_is_made_for_a_gate_passes_it(
    artifacts: Any, made: str, gate: str
) -> None:
    first, second = (getattr(artifacts, made)(n) for n in (7, 8))
    assert first.artifact != second.artifact
    assert asyncio.run(check(find_gate(gate), first)).status == "passed"


@pytest.mark.parametrize("kind", ["json", "shell", "text", "python"])
def test_no_two_artifacts_are_alike(artifacts: Any, kind: str) -> None:
    assert len({artifacts.subject_of(kind, n).artifact for n in range(1, 41)}) == 40


def test_the_tools_pass_what_the_gates_pass(artifacts: Any, tmp_path: Path) -> None:
    subjects = [artifacts.subject_of(kind, 3) for kind in ("json", "shell", "python")]
    import_module("tools").run_tools(subjects, tmp_path)
    assert len(list(tmp_path.glob("artifact_*.*"))) == 4


@pytest.mark.model
def test_a_model_that_answers_beforehand_writes_its_tokens(artifacts: Any) -> None:
    beforehand = import_module("beforehand")
    model = beforehand.Beforehand(EngineConfig(n_ctx=256), {"Tell a story": ("x = 1", 12)})

    def ask(text: str) -> Any:
        asked = ModelRequest(parts=[UserPromptPart(text)])
        return asyncio.run(model_request(model, [asked]))

    try:
        answer = ask("Tell a story of a ship.")
        assert (answer.text, answer.usage.output_tokens) == ("x = 1", 12)
        assert ask("Anything else").text == "done"
    finally:
        close_engines()
