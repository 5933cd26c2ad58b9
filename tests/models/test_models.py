"""A model's name leads to the model, and a wrong one to what is wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from adapters import write_adapter
from prefect.blocks.system import Secret
from prefect_swarm.blocks import LlamaCpp, ModelProvider, override_models, resolve_model
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.models.limited_model import LimitedModel
from prefect_swarm.models.llama import gguf as adapter
from prefect_swarm.models.llama.gguf import demo_model_path, file_hash
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.models.names import register_model
from prefect_swarm.models.resolve import (
    MODEL_FORMS,
    forget_models,
    planner_adapter_of,
    profile_of,
)
from pydantic import SecretStr
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel


@pytest.fixture(autouse=True)
def _forget_resolved_models() -> Iterator[None]:
    forget_models()
    yield
    forget_models()


def resolve(name: str, tier: str = "worker") -> Model:
    return asyncio.run(resolve_model(name, tier))


def _wrapped(model: Model) -> Model:
    assert isinstance(model, LimitedModel)
    return model.wrapped


def test_demo_is_the_embedded_model() -> None:
    model = resolve("demo")
    assert isinstance(model, LlamaCppModel)
    assert model.path == demo_model_path().resolve()


def test_a_path_is_a_local_model(tmp_path: Path) -> None:
    link = tmp_path / "mine.gguf"
    link.symlink_to(demo_model_path())
    assert isinstance(resolve(f"llamacpp:{link}"), LlamaCppModel)


def test_a_name_at_a_url_is_a_model_of_an_openai_compatible_server() -> None:
    model = resolve("openai:qwen2.5:7b@http://localhost:8000/v1")
    assert isinstance(model, LimitedModel)
    assert isinstance(model.wrapped, OpenAIChatModel)
    assert model.model_name == "qwen2.5:7b"
    assert str(model.base_url).rstrip("/") == "http://localhost:8000/v1"


def test_a_providers_name_is_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert resolve("openai:gpt-5").model_name == "gpt-5"


def test_a_name_is_resolved_once() -> None:
    async def both() -> list[Model]:
        return [await resolve_model("demo", tier) for tier in ("worker", "architect")]

    first, second = asyncio.run(both())
    assert first is second


def test_each_event_loop_has_models_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert resolve("openai:gpt-5") is not resolve("openai:gpt-5")


def test_several_names_stand_in_for_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    model = resolve("openai:gpt-5,openai:gpt-4o")
    assert isinstance(model, FallbackModel)
    assert [each.model_name for each in model.models] == ["gpt-5", "gpt-4o"]


def test_a_model_given_in_python_has_a_name_that_leads_back_to_it() -> None:
    mine = TestModel()
    assert register_model(mine) == register_model(mine)
    assert register_model(mine) != register_model(TestModel())
    assert _wrapped(resolve(register_model(mine))) is mine


def test_one_that_another_process_was_given_is_said_to_be_missing() -> None:
    with pytest.raises(ModelError, match="in another process"):
        resolve("python:gpt-5#99")


def test_a_missing_file_names_the_tier_and_the_path() -> None:
    with pytest.raises(ModelError, match=r"Tier coder: .*/none\.gguf doesn't exist"):
        resolve("llamacpp:/none.gguf", "coder")


@pytest.mark.parametrize("name", ["", "smollm", "nowhere:model", "llamacpp:", "demo:x"])
def test_a_name_of_no_known_form_is_refused_with_the_forms(name: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve(name)
    assert repr(name) in caught.value.problem
    assert MODEL_FORMS in caught.value.fix


@pytest.mark.parametrize("name", ["block:", "block:llama-cpp", "block:/x", "block:llama-cpp/"])
def test_a_block_reference_without_type_and_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="block:TYPE/NAME"):
        resolve(name)


@pytest.mark.parametrize("name", ["openai:@http://localhost/v1", "openai:x@ftp://localhost/v1"])
def test_a_url_without_a_model_or_of_another_kind_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        resolve(name)


def test_an_override_takes_its_tiers_place_and_no_others() -> None:
    mine = TestModel()
    with override_models(worker=mine):
        assert _wrapped(resolve("demo")) is mine
        assert _wrapped(resolve("no such name")) is mine
        assert isinstance(resolve("demo", "coder"), LlamaCppModel)
    assert isinstance(resolve("demo"), LlamaCppModel)


def test_overrides_nest_and_reach_tasks_started_inside() -> None:
    outer, inner = TestModel(), TestModel()

    async def resolve_both() -> list[Model]:
        both = asyncio.gather(resolve_model("demo", "worker"), resolve_model("", "coder"))
        return [_wrapped(model) for model in await both]

    with override_models(worker=outer, coder=outer):
        with override_models(coder=inner):
            assert asyncio.run(resolve_both()) == [outer, inner]
        assert asyncio.run(resolve_both()) == [outer, outer]


def test_the_name_of_a_local_model_tells_the_adapter_it_plans_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = demo_model_path().resolve()
    shipped = write_adapter(tmp_path / "shipped.gguf", swarm__base__sha256=file_hash(base))
    monkeypatch.setattr(adapter, "SHIPPED_ADAPTER", shipped)
    assert planner_adapter_of("demo") == planner_adapter_of(f"llamacpp:{base}") == shipped
    for name in ("block:llama-cpp/x", "openai:gpt-5", "llamacpp:", "llamacpp:/none.gguf"):
        assert planner_adapter_of(name) is None


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server")
class TestStoredBlocks:
    def test_a_stored_block_of_either_type_gives_its_model(self) -> None:
        LlamaCpp(n_ctx=256).save("small", overwrite=True)
        ModelProvider(model="qwen", base_url="http://localhost/v1").save("far", overwrite=True)
        small = resolve("block:llama-cpp/small")
        assert isinstance(small, LlamaCppModel)
        assert small.config.n_ctx == 256
        assert resolve("block:swarm-model/far").model_name == "qwen"

    def test_an_edited_block_counts_once_models_are_forgotten(self) -> None:
        for n_ctx in (256, 128):
            LlamaCpp(n_ctx=n_ctx).save("edited", overwrite=True)
            forget_models()
            model = resolve("block:llama-cpp/edited")
            assert isinstance(model, LlamaCppModel)
            assert model.config.n_ctx == n_ctx

    @pytest.mark.parametrize("name", ["block:llama-cpp/none", "block:no-such-type/x"])
    def test_a_block_that_is_not_there_is_named(self, name: str) -> None:
        with pytest.raises(ModelError, match=name):
            resolve(name)

    def test_a_block_that_is_no_model_is_refused(self) -> None:
        Secret(value=SecretStr("x")).save("word", overwrite=True)
        with pytest.raises(InputError, match="is not a model"):
            resolve("block:secret/word")


def test_of_models_that_stand_in_for_one_another_the_smallest_known_context_counts() -> None:
    large, small = (TestModel(profile={"context_window": size}) for size in (200_000, 8_000))
    profile = profile_of(FallbackModel(large, small, TestModel()))
    assert (profile.context_tokens, profile.max_input_tokens) == (8_000, 6_000)
