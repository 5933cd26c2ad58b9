"""The blocks are what Prefect expects of an integration's, and make the models they describe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from adapters import write_adapter
from prefect.blocks.core import Block
from prefect.testing.standard_test_suites.blocks import BlockStandardTestSuite
from prefect_swarm.blocks import FailurePolicy, LlamaCpp, McpServer, ModelProvider, SharedOptions
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel
from pydantic import SecretStr, ValidationError
from pydantic_ai.models.openai import OpenAIChatModel


@pytest.mark.parametrize(
    "block", [FailurePolicy, LlamaCpp, McpServer, ModelProvider, SharedOptions]
)
class TestStandard(BlockStandardTestSuite):
    @pytest.fixture
    def block(self, request: pytest.FixtureRequest) -> type[Block]:
        return request.param

    def test_has_a_valid_image(self, block: type[Block]) -> None:
        """The suite would download a logo; these blocks have none."""
        assert block._logo_url is None

    def test_all_fields_have_a_title(self, block: type[Block]) -> None:
        assert all(field.title for field in block.model_fields.values())


def test_a_llama_cpp_block_makes_the_model_it_describes() -> None:
    block = LlamaCpp(n_ctx=1024, n_threads=1, n_slots=2, max_tokens=50, temperature=0.7)
    model = block.get_model()
    assert isinstance(model, LlamaCppModel)
    assert model.path == demo_model_path().resolve()
    assert model.config == EngineConfig(n_ctx=1024, n_threads=1, n_slots=2)
    assert model.settings == {"max_tokens": 50, "temperature": 0.7}


def test_an_empty_llama_cpp_block_makes_the_model_as_it_is_without_a_block() -> None:
    model = LlamaCpp().get_model()
    assert isinstance(model, LlamaCppModel)
    assert model.config == LlamaCppModel(demo_model_path()).config
    assert not model.settings


def test_a_llama_cpp_block_passes_on_what_is_set_alone() -> None:
    model = LlamaCpp(n_slots=2, temperature=0).get_model()
    assert isinstance(model, LlamaCppModel)
    assert model.config == EngineConfig(n_slots=2)
    assert model.settings == {"temperature": 0}


def test_a_llama_cpp_blocks_adapter_is_the_shipped_one_none_or_a_file(tmp_path: Path) -> None:
    def planner_adapter(chosen: str) -> Path | None:
        model = LlamaCpp(planner_adapter=chosen).get_model()
        assert isinstance(model, LlamaCppModel)
        return model.planner_adapter

    own = write_adapter(tmp_path / "own.gguf")
    assert planner_adapter("none") is None
    assert planner_adapter(str(own)) == own
    assert planner_adapter("default") == LlamaCppModel(demo_model_path()).planner_adapter
    with pytest.raises(ModelError, match=r"gone\.gguf doesn't exist"):
        planner_adapter(str(tmp_path / "gone.gguf"))


def test_a_llama_cpp_block_is_saved_without_its_file_and_says_so_when_used(tmp_path: Path) -> None:
    block = LlamaCpp(model_path=str(tmp_path / "elsewhere.gguf"))
    with pytest.raises(ModelError, match=r"elsewhere\.gguf doesn't exist"):
        block.get_model()


@pytest.mark.parametrize("field", ["n_ctx", "n_threads", "n_slots", "max_tokens"])
def test_a_senseless_figure_is_refused_in_the_form(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        LlamaCpp.model_validate({"model_path": "", field: 0})


@pytest.mark.parametrize("name", ["openai:qwen2.5:7b", "qwen2.5:7b"])
def test_a_base_url_means_an_openai_compatible_server(name: str) -> None:
    block = ModelProvider(model=name, base_url="http://localhost:8000/v1")
    model = block.get_model()
    assert isinstance(model, OpenAIChatModel)
    assert model.model_name == "qwen2.5:7b"
    assert model.base_url.rstrip("/") == "http://localhost:8000/v1"


def test_a_key_is_handed_over_and_never_shown() -> None:
    block = ModelProvider(model="openai:gpt-5", api_key=SecretStr("sk-secret"))
    model = block.get_model()
    assert model.model_name == "gpt-5"
    assert "sk-secret" not in repr(block)
    assert "sk-secret" not in repr(model)


def test_a_missing_key_says_which_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        ModelProvider(model="openai:gpt-5").get_model()


def test_a_provider_that_takes_no_base_url_says_so() -> None:
    block = ModelProvider(
        model="openrouter:x", base_url="http://localhost/v1", api_key=SecretStr("k")
    )
    with pytest.raises(InputError, match="base_url"):
        block.get_model()


def test_a_base_url_that_is_no_web_address_is_refused() -> None:
    with pytest.raises(InputError, match="localhost:8000"):
        ModelProvider(model="x", base_url="localhost:8000").get_model()


def test_shared_options_are_those_that_were_set_whichever_group_of_the_form_has_them() -> None:
    block = SharedOptions(options={"max_usd": 2, "more": {"memory": "false"}, "more_models": None})
    assert block.options == {"max_usd": 2, "memory": "false"}
    options = block.get_options()
    assert (options.max_usd, options.memory, options.max_attempts) == (2, False, 9)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"turns": 0}, "turns got 0"),
        ({"modle": "demo"}, "modle got 'demo'"),
        ({"options_block": "team"}, "names another one"),
        ({"model": "openai:x@https://ann:sesame@host/v1"}, "a user or password before the @"),
        ({"more_models": {"key_env": "sk-se-same"}}, "key_env is a key"),
        ({"key_env": "sk2b95fd9bc4a8sesame"}, "key_env is a key"),
    ],
)
def test_shared_options_refuse_what_a_run_would_and_no_secret_is_repeated(
    options: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputError, match=why) as refused:
        SharedOptions(options=options)
    assert "same" not in str(refused.value)
