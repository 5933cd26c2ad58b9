"""Training reads what the engine would read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.errors import ModelError
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.native import Native
from prefect_swarm.parl.train.batches import encode

pytestmark = pytest.mark.model

PLAN = "1. Baker: Bake the bread\n2. Taster: Taste the bread (needs 1)"
OBJECTIVES = [
    "Bake bread, then taste it",
    "Do these:\n- bake   bread\n- taste\tit\n",
    "Ünïcode: 中文, €5 — “quoted” 🙂",
    "Write f(x) = x**2 in 12,345 ways; don't stop",
]


@pytest.fixture(scope="module")
def native() -> Iterator[Native]:
    native = Native(demo_model_path(), EngineConfig(n_ctx=64, n_slots=1))
    yield native
    native.close()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_prompt_and_plan_are_the_served_conversation(objective: str, native: Native) -> None:
    (example,) = encode([(objective, PLAN)], demo_model_path())
    lines = "\n".join(" ".join(line.split()) for line in objective.strip().splitlines())
    prompt = (
        "<|im_start|>system\nSplit the objective into steps.<|im_end|>\n"
        f"<|im_start|>user\n{lines}<|im_end|>\n<|im_start|>assistant\n"
    )
    assert list(example.prompt) == native.tokenize(prompt)
    assert b"".join(map(native.piece, example.plan)).decode() == PLAN


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_plan_ends_where_generation_does(objective: str, native: Native) -> None:
    (example,) = encode([(objective, PLAN)], demo_model_path())
    assert [native.is_end_token(token) for token in example.plan] == [False] * (
        len(example.plan) - 1
    ) + [True]


def test_a_model_without_a_chat_template_is_refused(tiny: Path) -> None:
    with pytest.raises(ModelError, match="no chat template"):
        encode([("a", PLAN)], tiny)
