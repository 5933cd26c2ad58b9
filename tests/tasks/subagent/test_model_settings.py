"""Settings of a request follow from the step's output."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.tasks.subagent.asking import settings_of
from prefect_swarm.tasks.subagent.request import SubagentRequest

BASE = SubagentRequest(
    key="k",
    run="r",
    step="S1",
    agent="A",
    attempt=1,
    tier="worker",
    model="demo",
    instructions="You do it.",
    prompt="Do it.",
)


def asked(**fields: Any) -> dict[str, Any]:
    return {**settings_of(BASE.model_copy(update=fields), is_local=True)}


@pytest.mark.parametrize("kind", ["python", "shell", "json", "files"])
def test_what_says_its_names_again_is_not_penalised_for_it(kind: str) -> None:
    assert asked(output=kind)["llamacpp_repeat_penalty"] == 1


def test_a_text_is_penalised_as_the_engine_sees_fit() -> None:
    assert "llamacpp_repeat_penalty" not in asked()


def test_json_is_written_under_its_schema() -> None:
    assert asked(output="json", output_schema="{}")["llamacpp_json_schema"] == "{}"
    assert "llamacpp_json_schema" not in asked(output="json")


def test_an_answer_of_a_given_form_is_written_under_its_grammar() -> None:
    assert asked(grammar="root ::= [0-9]")["llamacpp_grammar"] == "root ::= [0-9]"


def test_the_temperature_is_the_models_own_unless_one_is_asked_for() -> None:
    assert "temperature" not in asked()
    assert asked(temperature=0.8)["temperature"] == 0.8


def test_a_provider_is_sent_nothing_that_nobody_set() -> None:
    sent = settings_of(BASE, is_local=False)
    assert [name for name in sent if not name.startswith("llamacpp_")] == []


def test_a_provider_is_sent_what_somebody_set() -> None:
    limits = {"max_output_tokens": 9, "temperature": 0.5, "top_p": 0.9, "thinking": "low"}
    seeded = {"seed": 7, "seed_is_set": True}
    sent = settings_of(BASE.model_copy(update=limits | seeded), is_local=False)
    assert (sent.get("max_tokens"), sent.get("temperature"), sent.get("top_p")) == (9, 0.5, 0.9)
    assert (sent.get("thinking"), sent.get("seed")) == ("low", 7)


def test_what_has_a_long_path_behind_it_is_asked_first() -> None:
    assert asked(priority=3.5)["llamacpp_priority"] == 3.5
    assert "llamacpp_priority" not in asked()


def test_an_answer_is_found_whatever_its_place_in_the_line_was() -> None:
    assert BASE.cache_key() == BASE.model_copy(update={"priority": 3.5}).cache_key()
