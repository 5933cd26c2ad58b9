"""The steps of the gates' bench, and the hidden tests that say which artifact is right."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.gates import (
    Subject,
    build_pipeline,
    check,
    run_pipeline,
    select_gates,
)

GATES = Path(__file__).parents[2] / "benches" / "gates"
ANSWERS = Path(__file__).with_name("gates_answers.jsonl")


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(GATES)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answers() -> list[Any]:
    """The answers to every step; those that are run take their time."""
    kinds = {line["id"]: line["kind"] for line in lines_of(GATES / "steps.jsonl")}
    slow = {name for name, kind in kinds.items() if kind in ("python", "shell")}
    return [
        pytest.param(line, id=line["id"], marks=[pytest.mark.slow] if line["id"] in slow else [])
        for line in lines_of(ANSWERS)
    ]


def step(name: str) -> Any:
    return next(asked for asked in import_module("steps").load_steps() if asked.id == name)


def truth(name: str) -> Any:
    return import_module("hidden").load_hidden()[name]


def flaw(name: str, artifact: str) -> str:
    return asyncio.run(import_module("judge").flaw(truth(name), artifact))


def text_flaw(text: str, **rules: Any) -> str:
    hidden = import_module("hidden")
    return hidden.text_flaw(hidden.TextTruth(id="x", kind="text", **rules), text)


def test_there_are_enough_steps_of_every_kind() -> None:
    kinds = Counter(asked.kind for asked in import_module("steps").load_steps())
    assert kinds == {"python": 26, "shell": 13, "json": 14, "text": 15}


def test_every_step_has_a_hidden_test_of_its_kind_and_an_answer() -> None:
    kinds = {asked.id: asked.kind for asked in import_module("steps").load_steps()}
    hidden = {truth.id: truth.kind for truth in import_module("hidden").load_hidden().values()}
    assert hidden == kinds
    assert [answer.id for answer in answers()] == list(kinds)


def test_no_hidden_example_is_shown() -> None:
    truths = import_module("hidden").load_hidden()
    for asked in import_module("steps").load_steps():
        if asked.kind == "python":
            hidden = {example.call for example in truths[asked.id].examples}
            assert 1 <= len(asked.output.examples) <= 3
            assert not hidden & {example.call for example in asked.output.examples}


@pytest.mark.parametrize("answer", answers())
def test_the_right_answer_passes_the_line_and_the_hidden_test(answer: dict[str, str]) -> None:
    asked = step(answer["id"])
    subject = Subject(artifact=answer["right"], output=asked.output, prompt=asked.prompt)
    pipeline = build_pipeline(select_gates(asked.output))
    result = asyncio.run(run_pipeline(pipeline, subject, lambda g, s, r: check(g, s, required=r)))
    assert result.stopped_by is None
    assert flaw(asked.id, result.artifact) == ""


@pytest.mark.parametrize("answer", answers())
def test_the_wrong_answer_fails_the_hidden_test(answer: dict[str, str]) -> None:
    assert flaw(answer["id"], answer["wrong"]) != ""


def test_what_is_no_python_is_wrong_without_running_it() -> None:
    assert "SyntaxError" in flaw("add", "Here is the function you asked for:")


def test_what_is_no_json_is_wrong() -> None:
    assert flaw("sum", "The sum is 42.").startswith("not JSON")
    assert flaw("sum", '{"sum": 42}') == ""


@pytest.mark.parametrize("text", ["56", " 56.\n", "**56**"])
def test_a_whole_text_may_have_marks_around_it(text: str) -> None:
    assert text_flaw(text, whole=r"\W*56\W*") == ""


def test_a_sentence_is_no_number() -> None:
    assert text_flaw("It is 56", whole=r"\W*56\W*") != ""


def test_a_text_says_what_it_has_to_and_nothing_it_may_not() -> None:
    rules = {"says": (r"\bfriday\b", r"\bthree\b"), "never": (r"\bmonday\b",)}
    assert text_flaw("On Friday\nat three", **rules) == ""
    assert text_flaw("On Friday at two", **rules) != ""
    assert text_flaw("On Friday at three, not on Monday", **rules) != ""


def test_a_text_has_its_words() -> None:
    assert text_flaw("one two three", min_words=3, max_words=3) == ""
    assert text_flaw("one two", min_words=3) == "it has 2 words"
    assert text_flaw("one two three four", max_words=3) == "it has 4 words"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("- red\n- blue", True),
        ("1. Blue\n2. Red", True),
        ("- red\n- red", False),
        ("- red\n- blue\n- green", False),
        ("- red\n- green", False),
        ("red, blue", False),
    ],
)
def test_a_list_has_the_entries_asked_for_in_any_order(text: str, right: bool) -> None:
    assert (text_flaw(text, entries=("red", "blue"), distinct=True) == "") == right


def test_a_line_that_is_no_step_is_named(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_text('{"id": "a", "kind": "json", "prompt": "x", "output": {"min_words": 1}}\n')
    with pytest.raises(InputError, match=r"Line 1 .*min_words is for output kind text"):
        import_module("steps").load_steps(path)


def test_an_id_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_text('{"id": "a", "kind": "text", "prompt": "x", "output": {}}\n' * 2)
    with pytest.raises(InputError, match=r"Line 2 .* has the id 'a'"):
        import_module("steps").load_steps(path)


def test_a_line_that_is_no_hidden_test_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hidden.jsonl"
    path.write_text('{"id": "a", "kind": "shell", "runs": []}\n')
    with pytest.raises(InputError, match=r"Line 1 .* is not a hidden test"):
        import_module("hidden").load_hidden(path)
