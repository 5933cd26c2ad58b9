"""A GGUF file is a pydantic-ai model like any other."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from adapters import write_adapter
from prefect_swarm.errors import ContextTooSmallError, InputError, ModelError, StepTimeoutError
from prefect_swarm.models.llama import gguf as adapter
from prefect_swarm.models.llama.api import (
    EngineConfig,
    GeneratedText,
    GenerateRequest,
    LocalToolCall,
    Message,
)
from prefect_swarm.models.llama.chat import to_chat
from prefect_swarm.models.llama.model import LlamaCppModel, LlamaCppSettings
from prefect_swarm.models.names import EMBEDDED
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ImageUrl,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.settings import ModelSettings

pytestmark = pytest.mark.model


class Answer(BaseModel):
    word: Literal["yes", "no"]
    count: int


@pytest.fixture
def model(demo_path: Path, config: EngineConfig) -> LlamaCppModel:
    settings = LlamaCppSettings(max_tokens=20, temperature=0)
    return LlamaCppModel(demo_path, config=config, settings=settings)


def ask(model: LlamaCppModel, text: str, **settings: Any) -> ModelResponse:
    result = asyncio.run(Agent(model).run(text, model_settings=LlamaCppSettings(**settings)))
    response = result.all_messages()[-1]
    assert isinstance(response, ModelResponse)
    return response


def test_it_is_named_after_its_file(model: LlamaCppModel, demo_path: Path) -> None:
    assert model.model_name == demo_path.stem
    assert model.system == "llamacpp"


def test_the_embedded_model_has_limits_of_its_own_but_for_how_many_are_in_line(
    demo_path: Path,
) -> None:
    model = LlamaCppModel(demo_path)
    slots = model.config.n_slots
    assert model.config == EngineConfig(n_ctx=4096, n_slots=slots)
    assert 4 <= slots <= 16
    assert model.limits == EMBEDDED.model_copy(update={"concurrency": 2 * slots})


def test_a_config_decides_the_limits(model: LlamaCppModel) -> None:
    limits = model.limits
    assert (limits.context_tokens, limits.max_output_tokens) == (512, 128)
    assert (limits.max_input_tokens, limits.concurrency) == (256, 4)


def test_a_missing_file_is_refused_when_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="doesn't exist"):
        LlamaCppModel(tmp_path / "none.gguf")


def test_naming_a_model_does_not_load_llama_cpp() -> None:
    code = (
        "import sys\n"
        "from prefect_swarm.blocks import LlamaCpp\n"
        "LlamaCpp().get_model()\n"
        "assert 'llama_cpp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_response_has_usage_reason_and_times(model: LlamaCppModel) -> None:
    response = ask(model, "Tell me a long story.")
    assert response.finish_reason == "length"
    assert response.usage.output_tokens == 20
    assert response.usage.input_tokens > 10
    assert response.model_name == model.model_name
    details = response.provider_details or {}
    assert details.keys() == {"asked_at", "queue_s", "duration_s"}


def test_a_settings_grammar_is_obeyed(model: LlamaCppModel) -> None:
    response = ask(model, "Is the sky blue?", llamacpp_grammar='root ::= "yes" | "no"')
    assert response.text in ("yes", "no")
    assert response.finish_reason == "stop"


def test_stop_sequences_end_the_answer(model: LlamaCppModel) -> None:
    grammar = 'root ::= "a b c d e f"'
    assert ask(model, "Letters", llamacpp_grammar=grammar, stop_sequences=["d"]).text == "a b c "


def test_structured_output_is_held_to_its_schema(model: LlamaCppModel) -> None:
    agent = Agent(model, output_type=Answer)
    result = asyncio.run(agent.run("Is it?", model_settings=LlamaCppSettings(max_tokens=60)))
    assert isinstance(result.output, Answer)


def test_instructions_come_before_the_question(model: LlamaCppModel) -> None:
    plain = ask(model, "Hello").usage.input_tokens
    agent = Agent(model, instructions="You answer in the manner of a sea captain, always.")
    instructed = asyncio.run(agent.run("Hello")).usage.input_tokens
    assert instructed != plain


def test_text_cannot_open_a_turn_of_its_own(model: LlamaCppModel) -> None:
    base = ask(model, "a").usage.input_tokens
    # As a special token it would be one token.
    assert ask(model, "a<|im_end|>").usage.input_tokens > base + 1


def test_an_adapter_in_a_requests_settings_is_applied_to_that_answer_alone(
    model: LlamaCppModel, tmp_path: Path
) -> None:
    adapter_path = str(write_adapter(tmp_path / "a.gguf"))
    before = ask(model, "What do bees do?").text
    assert ask(model, "What do bees do?", llamacpp_adapter=adapter_path).text != before
    assert ask(model, "What do bees do?").text == before


def test_a_missing_adapter_of_a_request_is_named(model: LlamaCppModel) -> None:
    with pytest.raises(ModelError, match=r"adapter /none\.gguf doesn't exist"):
        ask(model, "Hello", llamacpp_adapter="/none.gguf")


def test_it_plans_with_the_shipped_adapter_another_or_none(
    demo_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = adapter.file_hash(demo_path.resolve())
    shipped = write_adapter(tmp_path / "shipped.gguf", swarm__base__sha256=base)
    own = write_adapter(tmp_path / "own.gguf")
    monkeypatch.setattr(adapter, "SHIPPED_ADAPTER", shipped)
    assert LlamaCppModel(demo_path).planner_adapter == shipped
    assert LlamaCppModel(demo_path, planner_adapter=own).planner_adapter == own
    assert LlamaCppModel(demo_path, planner_adapter=None).planner_adapter is None
    served = LlamaCppModel(demo_path, config=EngineConfig(adapter=own))
    assert served.planner_adapter == own


def test_an_adapter_for_planning_that_is_none_is_refused_when_it_is_named(demo_path: Path) -> None:
    with pytest.raises(ModelError, match="not a LoRA adapter"):
        LlamaCppModel(demo_path, planner_adapter=demo_path)


def test_a_prompt_too_long_is_refused(model: LlamaCppModel) -> None:
    with pytest.raises(ContextTooSmallError):
        ask(model, "word " * 1000)


@pytest.mark.parametrize("words", [5, 480])
def test_without_max_tokens_an_answer_takes_what_suits_the_context_or_is_left_of_it(
    shallow_path: Path, config: EngineConfig, words: int
) -> None:
    endless = LlamaCppModel(shallow_path, config=config)
    usage = ask(endless, "word " * words, llamacpp_grammar='root ::= "a" root').usage
    assert usage.output_tokens == min(512 // 4, 512 - usage.input_tokens)


def test_max_tokens_that_do_not_fit_are_refused(demo_path: Path, config: EngineConfig) -> None:
    with pytest.raises(ContextTooSmallError):
        ask(LlamaCppModel(demo_path, config=config), "word " * 300, max_tokens=300)


def test_a_timeout_is_a_step_timeout(model: LlamaCppModel) -> None:
    with pytest.raises(StepTimeoutError, match="within 0 s"):
        ask(model, "Hello", timeout=0)


def test_a_history_becomes_turns_with_the_system_first() -> None:
    turns = to_chat(
        [
            ModelRequest([SystemPromptPart("Be brief."), UserPromptPart("One?")]),
            ModelResponse([ThinkingPart("hm"), TextPart("1")]),
            ModelRequest([UserPromptPart(["Two?", "And three?"]), SystemPromptPart("Be kind.")]),
        ],
        "Be exact.",
    )
    assert turns == (
        Message("system", "Be exact.\n\nBe brief.\n\nBe kind."),
        Message("user", "One?"),
        Message("assistant", "1"),
        Message("user", "Two?\n\nAnd three?"),
    )


def test_what_is_not_text_is_refused() -> None:
    with pytest.raises(InputError):
        to_chat([ModelRequest([UserPromptPart([ImageUrl("https://example.org/a.png")])])])


def test_calls_and_their_results_are_turns() -> None:
    turns = to_chat(
        [
            ModelRequest([UserPromptPart("Weather?")]),
            ModelResponse([TextPart("Wait."), ToolCallPart("weather", {"days": 2}, "c1")]),
            ModelRequest([ToolReturnPart("weather", {"sky": "blue"}, tool_call_id="c1")]),
            ModelRequest([RetryFeedbackPart("Too long.", retry=RetryInfo("model_retry"))]),
        ]
    )
    assert turns[1:3] == (
        Message("assistant", "Wait.", (LocalToolCall("weather", '{"days":2}', "c1"),)),
        Message("tool", '{"sky":"blue"}', call_id="c1", name="weather"),
    )
    assert turns[3].role == "user"
    assert "Too long." in turns[3].content


def test_an_answer_can_be_held_to_a_schema(model: LlamaCppModel) -> None:
    schema = Answer.model_json_schema()
    answer = ask(model, "Is the sky blue?", llamacpp_json_schema=json.dumps(schema), max_tokens=60)
    assert Answer.model_validate_json(answer.text or "").word in ("yes", "no")


def test_a_schema_without_a_grammar_is_left_to_the_caller(
    model: LlamaCppModel,
) -> None:
    odd = json.dumps({"$ref": "#/$defs/missing"})
    assert ask(model, "Say hello", llamacpp_json_schema=odd).text


class Reasoning(LlamaCppModel):
    """A model file that reasons in its text before it answers."""

    async def _generate(
        self,
        request: GenerateRequest,
        settings: ModelSettings | None,
    ) -> GeneratedText:
        text = "<think>\nThree and three and three.\n</think>\n\nNine."
        return GeneratedText(text, 9, 0, 12, "stop", 0.0, 0.1)


def test_reasoning_in_a_files_text_is_no_part_of_its_answer(demo_path: Path) -> None:
    answer = ask(Reasoning(demo_path), "How deep?")
    assert answer.text == "Nine."
    assert [type(part) for part in answer.parts] == [ThinkingPart, TextPart]
