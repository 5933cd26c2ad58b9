"""A plan in lines: what the grammar admits is read, and what is written is admitted."""

from __future__ import annotations

import pytest
from grammar_reader import GrammarReader
from hypothesis import given, settings
from hypothesis import strategies as st
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.task_ir import Agent, PlanRules, Step, TaskIR
from prefect_swarm.tasks.planner.line_format import grammar, read_lines, write_lines

PUMP = """\
1. Physicist: Explain how a heat pump moves heat, in winter
2. Economist [trusts only figures]: Say what it costs: buying, running
3. Judge: Weigh both (needs 1, 2)"""

_LETTERS = "abzABZÄñ語'.&/-"
_PLAIN = st.text(_LETTERS + "):[]!9", min_size=1, max_size=40).filter(lambda word: word[0] != "9")
# Asides come close to what a step needs, and what they hold may look like it.
_ASIDE = st.sampled_from(["(a", "(no", "(n", "(3", "((needs", "(Needs", "needs", "1,", "2)"])
_NUMBER = st.sampled_from(
    """3 3x4 10:30, 2024-05-01 1.5 1,200.50 9am 24/7 4-6 10-minute 50% 16:9 3rd 3D 1: 192.168.1.1
    2024) 1e-3 100,000,000""".split()  # noqa: SIM905 - a list of one word a line
)
_WORD = _PLAIN | _ASIDE | _NUMBER
_NAME_WORD = st.text(_LETTERS + "9", min_size=1, max_size=8)
_NAMES = st.lists(_NAME_WORD, min_size=1, max_size=4).map(lambda words: "A" + " ".join(words))
_PERSONA = st.lists(
    st.text(_LETTERS + "():", max_size=9).map(lambda word: "a" + word), min_size=1, max_size=4
)


@st.composite
def admitted(draw: st.DrawFn) -> str:
    """A text in the grammar's language, over few names so that they come back."""
    names = draw(st.lists(_NAMES, min_size=1, max_size=3))
    lines: list[str] = []
    for number in range(1, draw(st.integers(1, 14)) + 1):
        persona = draw(st.none() | _PERSONA)
        words = draw(st.lists(_WORD, min_size=1, max_size=4))
        prompt = " ".join(["Do", *words, *words * draw(st.sampled_from([0, 0, 0, 10]))])
        needs = sorted(draw(st.sets(st.integers(1, number - 1)))) if number > 1 else []
        lines.append(
            f"{number}. {draw(st.sampled_from(names))}"
            + (f" [{' '.join(persona)}]" if persona else "")
            + f": {prompt}"
            + (f" (needs {', '.join(map(str, needs))})" if needs else "")
        )
    return "\n".join(lines)


@given(admitted())
def test_whatever_the_grammar_admits_is_a_plan(text: str) -> None:
    plan = read_lines(text, "Do it")
    assert plan.objective == "Do it"
    assert 1 <= len(plan.steps) <= text.count("\n") + 1
    assert read_lines(write_lines(plan), "Do it") == plan


def test_lines_create_agents_and_assign_tasks() -> None:
    plan = read_lines(PUMP, "Advise on heat pumps")
    assert [agent.name for agent in plan.agents] == ["Physicist", "Economist", "Judge"]
    assert "trusts only figures" in plan.agents[1].system_prompt
    assert plan.steps[0].prompt == "Explain how a heat pump moves heat, in winter"
    assert plan.steps[2].depends_on == ("S1", "S2")
    assert plan.final_step == "S3"
    assert write_lines(plan) == PUMP


def test_a_name_that_comes_back_is_the_same_agent() -> None:
    plan = read_lines("1. Poet: Write it\n2. poet [is terse]: Mend it (needs 1)", "x")
    assert [agent.name for agent in plan.agents] == ["Poet"]
    assert plan.steps[1].agent == "Poet"


def test_a_repeated_line_is_left_out_and_who_needs_it_needs_the_first() -> None:
    plan = read_lines("1. A: Do this\n2. A: Do this\n3. B: Join them (needs 1, 2)", "x")
    assert [(step.id, step.depends_on) for step in plan.steps] == [("S1", ()), ("S2", ("S1",))]


@pytest.mark.parametrize(
    ("lines", "final"),
    [
        ("1. A: Do this", "S1"),
        ("1. A: Do this\n2. B: Do that", None),
        ("1. A: Do this\n2. B: Do that (needs 1)\n3. C: Do more (needs 2)", "S3"),
        ("1. A: Do this\n2. B: Do that (needs 1)\n3. C: Do more (needs 1)", None),
    ],
)
def test_the_final_step_is_the_one_that_joins_all(lines: str, final: str | None) -> None:
    assert read_lines(lines, "x").final_step == final


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "Sure! Here is a plan:",
        "1. Poet",
        "2. Poet: Write it",
        "1. Poet: Write it\n3. Critic: Judge it",
        "1. Poet: Write it (needs 1)",
        "1. Poet: Write it (needs 2)\n2. Critic: Judge it",
        f"1. {'x' * 81}: Write it",
    ],
)
def test_what_is_no_plan_is_a_plan_error_with_its_text(text: str) -> None:
    with pytest.raises(PlanError) as caught:
        read_lines(text, "x")
    assert caught.value.text == text


def test_more_steps_than_the_rules_allow_are_refused() -> None:
    with pytest.raises(PlanError, match="limit of 2"):
        read_lines(PUMP, "x", PlanRules(max_steps=2))


def test_what_lines_cannot_say_is_not_written() -> None:
    agent = Agent(name="A", system_prompt="You write.")
    plan = TaskIR(
        objective="x", agents=(agent,), steps=(Step(id="S1", agent="A", prompt="one\ntwo"),)
    )
    with pytest.raises(PlanError):
        write_lines(plan)


def test_a_grammar_has_a_rule_for_each_step_and_names_only_earlier_ones() -> None:
    rules = grammar(3)
    assert 'line3 ::= "3. "' in rules
    assert "line4" not in rules
    assert 'from3x1 ::= "1" (", " from3x2)? | "2"' in rules


@pytest.fixture(scope="module")
def reader() -> GrammarReader:
    return GrammarReader()


@pytest.mark.model
@given(text=admitted())
@settings(deadline=None, max_examples=50)
def test_llama_takes_what_is_written(reader: GrammarReader, text: str) -> None:
    assert reader.accepts(grammar(), text)
    assert reader.accepts(grammar(), write_lines(read_lines(text, "x")))


@pytest.mark.model
@pytest.mark.parametrize("first", "WÄÞİŁĐẢΩЖԱ語あ가אعहก")
def test_llama_takes_capitals_and_letters_without_them(reader: GrammarReader, first: str) -> None:
    assert reader.accepts(grammar(), f"1. {first}a: {first}a it")


@pytest.mark.model
@pytest.mark.parametrize(
    "text",
    [
        "1. Poet: Write it (needs 1)",
        "1. Poet: Write it\n2. Critic: Judge it (needs 2)",
        "1. Poet: Write it\n2. Critic: Judge it (needs 1, 1)",
        "1. Poet: Write it\n3. Critic: Judge it",
        "1. Poet: Write it\n",
        "1. Poet Write it",
        "1. poet: Write it",
        "1. ärztin: Write it",
        "1. Poet: write it",
        "1. Poet: ırite it",
        "1. Poet: ƒ(1) it",
        "1. Poet: Ƭa it",
        "1. Poet: × it",
        "1. Poet: Write 1. 2. 3.",
        "1. Poet: Write (needs 1)",
        "1. Poet: Write (needs much",
        "1. Poet: Write a" + 40 * "h",
        "1. Poet: Write" + 48 * " more",
        "\n".join(f"{number}. Poet: Write it" for number in range(1, 16)),
    ],
)
def test_llama_refuses_what_is_no_plan(reader: GrammarReader, text: str) -> None:
    assert not reader.accepts(grammar(), text)
