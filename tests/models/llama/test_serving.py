"""How a model file is served: the type of its cache and the layers that a GPU computes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.blocks import LlamaCpp
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.models.llama.api import CacheType, EngineConfig, GenerateRequest, Message
from prefect_swarm.models.llama.engine import Engine
from prefect_swarm.models.llama.limits import engine_config_for
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.models.llama.sizing import ModelShape, cached_as

QUESTION = GenerateRequest(
    messages=(Message("user", "What is 1 + 1? Give the number."),), max_tokens=40, temperature=0
)


def answers(path: Path, config: EngineConfig, count: int = 1) -> list[str]:
    engine = Engine(path, config)

    async def ask_all() -> list[str]:
        found = await asyncio.gather(*(engine.generate(QUESTION) for _ in range(count)))
        return [answer.text for answer in found]

    try:
        return asyncio.run(ask_all())
    finally:
        engine.close()


@pytest.mark.model
@pytest.mark.parametrize("cache_type", ["f16", "q8_0", "q4_0"])
def test_an_engine_answers_whatever_its_cache_is_kept_as(
    demo_path: Path, cache_type: CacheType
) -> None:
    config = EngineConfig(n_ctx=256, n_slots=2, cache_type=cache_type)
    first, second = answers(demo_path, config, 2)
    assert "2" in first
    assert first == second


@pytest.mark.parametrize(
    ("cache_type", "kv_bytes"), [(None, 6400), ("f16", 6400), ("q8_0", 3400), ("q4_0", 1800)]
)
def test_a_quantised_cache_takes_less(cache_type: CacheType | None, kv_bytes: int) -> None:
    assert cached_as(ModelShape(2048, 6400), cache_type) == ModelShape(2048, kv_bytes)


@pytest.mark.model
def test_layers_for_a_gpu_are_refused_where_llama_cpp_knows_none(demo_path: Path) -> None:
    from prefect_swarm.models.llama.library import lib

    if lib.llama_supports_gpu_offload():
        pytest.skip("this llama.cpp was built with GPU support")
    with pytest.raises(ModelError, match="n_gpu_layers is 3, but"):
        answers(demo_path, EngineConfig(n_ctx=128, n_slots=1, n_gpu_layers=3))
    assert answers(demo_path, EngineConfig(n_ctx=128, n_slots=1, n_gpu_layers=0)) != [""]


@pytest.mark.parametrize(
    "fields", [{"n_gpu_layers": -1}, {"cache_type": "q5_1"}, {"cache_type": ""}]
)
def test_a_value_that_is_not_allowed_is_named(fields: dict[str, Any]) -> None:
    ((name, value),) = fields.items()
    with pytest.raises(InputError, match=f"{name} is {value!r}"):
        EngineConfig(**fields)


def test_a_block_hands_on_how_its_file_is_served(demo_path: Path) -> None:
    block = LlamaCpp(n_gpu_layers=0, cache_type="q8_0", keep_loaded=True)
    model = block.get_model()
    assert isinstance(model, LlamaCppModel)
    config = model.config
    assert (config.n_gpu_layers, config.cache_type, config.keep_loaded) == (0, "q8_0", True)
    assert model.config == engine_config_for(
        demo_path, n_gpu_layers=0, cache_type="q8_0", keep_loaded=True
    )
