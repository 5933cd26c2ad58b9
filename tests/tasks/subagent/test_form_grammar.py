"""An answer of a given form is held to it, where the model takes a grammar."""

from __future__ import annotations

import asyncio
from typing import get_args

import pytest
from prefect_swarm.gates import gates
from prefect_swarm.gates.base import Subject
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel, LlamaCppSettings
from prefect_swarm.plan.task_ir import Form, Output
from prefect_swarm.tasks.subagent.asking import form_grammar
from pydantic_ai import Agent

ASKED: dict[Form, str] = {
    "one_line": "What is the sun?",
    "number": "How many days does a week have?",
    "yes_no": "Is 10 smaller than 3?",
    "list": "Name three kinds of fruit.",
}


def test_a_text_without_a_form_is_free() -> None:
    assert form_grammar(Output()) == ""


def test_each_form_has_a_grammar_but_for_a_table() -> None:
    held = {form for form in get_args(Form) if form_grammar(Output(form=form))}
    assert held == set(ASKED)


@pytest.mark.model
@pytest.mark.parametrize("form", ASKED)
def test_what_a_grammar_lets_through_passes_the_gate(form: Form) -> None:
    output = Output(form=form)
    settings = LlamaCppSettings(llamacpp_grammar=form_grammar(output), max_tokens=60, seed=1)
    model = LlamaCppModel(demo_model_path())
    text = asyncio.run(Agent(model).run(ASKED[form], model_settings=settings)).output
    found = asyncio.run(gates()["form"].check(Subject(artifact=text, output=output)))
    assert found.status == "passed", text
