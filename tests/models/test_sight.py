"""What a model's name says about whether it takes pictures."""

from __future__ import annotations

import pytest
from prefect_swarm.models.names import reads_text_alone

BLIND = (
    "gpt-3.5-turbo gpt-4 gpt-oss-20b o3-mini deepseek-chat deepseek-v3 codestral-latest "
    "llama3.1:8b meta-llama/Llama-3.3-70B-Instruct llama3.2-3b qwen2.5-7b-instruct "
    "Qwen/Qwen3-32B qwen3:8b qwq-32b gemma2:9b gemma-2-9b-it phi-4 kimi-k2-0905-preview "
    "glm-4.6 command-r-plus granite-3.3-8b "
)
SEEING = (
    "gpt-4o gpt-4.1-mini gpt-4-turbo gpt-5 o3 o4-mini claude-sonnet-4-5 gemini-2.5-flash "
    "llama-4-scout llama3.2-vision:11b meta-llama/Llama-3.2-11B-Vision-Instruct qwen2.5-vl-7b "
    "Qwen/Qwen3-VL-8B qwen3.5-9b gemma-3-27b-it gemma3:4b phi-4-multimodal-instruct "
    "deepseek-vl2 deepseek-ocr kimi-k2.5 glm-4.5v pixtral-12b mistral-small-2506 "
    "granite-vision-3.2 my-own-model "
)


@pytest.mark.parametrize("name", BLIND.split())
def test_families_that_read_text_alone_are_known(name: str) -> None:
    assert reads_text_alone(name)


@pytest.mark.parametrize("name", SEEING.split())
def test_no_other_name_says_that_a_model_takes_no_pictures(name: str) -> None:
    assert not reads_text_alone(name)
