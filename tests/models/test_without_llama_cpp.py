"""Without llama.cpp, whatever needs a local model says what to install."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from prefect_swarm.blocks import LlamaCpp, resolve_model
from prefect_swarm.errors import InputError
from prefect_swarm.memory.embedding import make_embedder
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.models.resolve import forget_models, planner_adapter_of
from prefect_swarm.parl.train.config import require_extra

NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch isn't installed.")
LOCAL = r"^Local models need llama\.cpp\. Type: pip install 'prefect-swarm\[local\]'$"
DEMO = (
    r"^Local models need llama\.cpp\. Type: pip install 'prefect-swarm\[demo\]', "
    r"or name another model: --model openai:NAME, or for all runs "
    r"PREFECT_INTEGRATIONS_SWARM_MODEL=openai:NAME$"
)


@pytest.fixture(autouse=True)
def _hide_llama_cpp(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    forget_models()
    yield
    forget_models()


@pytest.mark.parametrize(
    "make",
    [
        lambda: LlamaCpp(model_path="mine.gguf").get_model(),
        lambda: LlamaCppModel("mine.gguf"),
        lambda: make_embedder("llamacpp:mine.gguf").embed(["text"]),
        pytest.param(require_extra, marks=NEEDS_TORCH),
    ],
    ids=["block", "model", "embedder", "training"],
)
def test_what_needs_a_model_file_names_the_extra_local(
    make: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_embedder.cache_clear()
    with pytest.raises(InputError, match=LOCAL):
        make()


def test_the_block_of_the_embedded_model_names_the_extra_demo() -> None:
    with pytest.raises(InputError, match=DEMO):
        LlamaCpp().get_model()


@pytest.mark.parametrize(
    ("name", "problem"), [("demo", DEMO), ("llamacpp:mine.gguf", LOCAL)], ids=["demo", "file"]
)
def test_a_local_models_name_is_refused_with_its_tier(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace("^", "^Tier coder: ")):
        asyncio.run(resolve_model(name, "coder"))


def test_a_remote_model_needs_no_llama_cpp() -> None:
    name = "openai:qwen@http://localhost:8000/v1"
    assert asyncio.run(resolve_model(name, "worker")).model_name == "qwen"


def test_a_local_model_plans_with_no_adapter() -> None:
    assert planner_adapter_of("demo") is None
