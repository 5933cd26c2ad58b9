"""A conversation is rendered as the model file's own template says."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import ModelError
from prefect_swarm.models.llama.api import Message
from prefect_swarm.models.llama.chat import ChatTemplate

PLAIN = (
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    + PLAIN
)


def template(source: str) -> ChatTemplate:
    return ChatTemplate(source, bos="<s>", eos="</s>")


def test_turns_are_rendered_up_to_the_assistants_answer() -> None:
    turns = [Message("system", "Be brief."), Message("user", "Hi")]
    assert template(PLAIN).render(turns) == "<s>[system]Be brief.[user]Hi[assistant]"


def test_a_system_turn_joins_the_first_turn_where_the_template_knows_none() -> None:
    turns = [Message("system", "Be brief."), Message("user", "Hi")]
    assert template(NO_SYSTEM).render(turns) == "<s>[user]Be brief.\n\nHi[assistant]"


def test_a_refused_conversation_gives_the_templates_reason() -> None:
    with pytest.raises(ModelError, match="no system role"):
        template(NO_SYSTEM).render([Message("system", "Alone.")])


def test_a_template_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ModelError, match="can't be read"):
        template("{% for %}")


def test_a_template_cannot_reach_outside_of_its_sandbox() -> None:
    with pytest.raises(ModelError, match="refuses"):
        template(
            "{{ messages.__class__.__mro__ }}{{ ''.__class__.__mro__[1].__subclasses__() }}"
        ).render([Message("user", "Hi")])
