"""An agent is told what its gates will look at."""

from __future__ import annotations

import pytest
from prefect_swarm.plan.task_ir import Example, Output
from prefect_swarm.tasks.subagent.asking import output_requirements
from prefect_swarm.tasks.subagent.request import SubagentRequest, prompt_of
from prefect_swarm.workspace.place import Workplace


@pytest.mark.parametrize(
    ("output", "sentences"),
    [
        (Output(), ()),
        (Output(kind="json", schema={"type": "object"}), ()),
        (
            Output(kind="python", examples=(Example(call="f(1)", gives=[1, "a"]),)),
            ('For example, `f(1)` gives `[1, "a"]`.',),
        ),
        (
            Output(kind="python", examples=(Example(call="f('A')", gives="a"),)),
            ("For example, `f('A')` gives `'a'`.",),
        ),
        (Output(form="yes_no"), ("Begin the answer with yes or no.",)),
        (
            Output(min_words=3, max_words=9),
            ("Write at least 3 words.", "Write at most 9 words."),
        ),
        (Output(sections=("A", "B")), ("Use these headings, in this order: A, B.",)),
        (
            Output(citations=True),
            ("Cite what you read by its name in square brackets, such as [S1].",),
        ),
    ],
)
def test_each_bound_is_a_sentence(output: Output, sentences: tuple[str, ...]) -> None:
    assert output_requirements(output) == sentences


def test_who_changes_files_is_told_which_commands_have_to_pass() -> None:
    place = Workplace(run="r", folder="/shop", start="c", checks=("pytest -q", "make lint"))
    asked = SubagentRequest(
        key="k",
        run="r",
        step="S1",
        agent="Maintainer",
        attempt=1,
        tier="worker",
        model="demo",
        instructions="",
        prompt="Fix the price.",
        output="patch",
        workplace=place,
    )
    assert "pass as they do without it:\npytest -q\nmake lint" in prompt_of(asked)
    assert "pytest" not in prompt_of(asked.model_copy(update={"output": "text"}))
