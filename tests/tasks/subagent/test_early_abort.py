"""A text that is certain to fail is told from one that may still succeed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.plan.task_ir import OutputKind
from prefect_swarm.tasks.subagent.answer import abort_reason


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("text", "It is good. " + "and so on " * 8, "'on and so'|'and so on'|'so on and'"),
        ("text", "word " * 8, "'word'"),
        ("python", "x = 1\n" * 25, "the line 'x = 1'"),
        ("text", "- so on\n" * 9, "the line '- so on'"),
        ("python", "Sure:\n```javascript\nlet x", "javascript instead of python"),
        ("shell", "```python\nprint(", "python instead of shell"),
        ("json", "{\n" + " " * 200, "blanks without end"),
        ("shell", "#!/bin/bash\nx = " + "range(" * 24 + "ran", r"'range\(' within itself"),
        ("json", "[" * 30, r"'\[' within itself"),
        ("json", "```yaml\na: 1", "yaml instead of json"),
        ("json", '{"claim": "It is ' + "the sea " * 35, "'(the sea|sea the)' over and over"),
        ("json", '["One.", "' + r"He said \"no\" again. " * 20, "over and over"),
        ("json", '{"a": "' + r"- so on\n" * 40, "so.* over and over"),
        ("json", '{"a": "' + "好的" * 130, "'(好的|的好)' over and over"),
    ],
)
def test_it_gives_the_reason_to_abort(kind: OutputKind, text: str, why: str) -> None:
    assert re.search(why, abort_reason(text, kind))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text", ""),
        ("text", "No, no, no, no! She would not go"),
        ("text", "```javascript\nlet x = 1\n```"),
        ("python", "```python\nx = 1\n```\n```javascript\nlet x"),
        ("python", "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"),
        ("python", "[0, 0, 0, 0, 0, 0, 0, 0],\n" * 8),
        ("json", '{"a": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1'),
        ("shell", "echo a\n" * 5),
        ("python", "f(1)" * 30),
        ("python", "max(min(" * 11),
        ("json", "[" * 20),
        ("json", '{"a": [' + "true, " * 100),
        ("json", '{"a": [' + "null, " * 100 + "nu"),
        ("json", "[" + '"the sea", ' * 100),
        ("json", "[" + '{"name": "the sea", "kind": null}, ' * 50),
        ("json", '{"a": "' + "-" * 400),
        ("json", '{"a": "|' + " --- |" * 60),
        ("json", '{"a": "|' + " 0.00 |" * 60),
        ("json", '{"a": "' + "A" * 400),
        ("json", '{"a": "' + "no, " * 20),
        ("json", '{"a": "' + "".join(rf"| {n} | yes | no |\n" for n in range(60))),
        ("json", '{"a": "' + "".join(rf"{n}. It is so.\n" for n in range(60))),
    ],
)
def test_what_may_still_succeed_goes_on(kind: OutputKind, text: str) -> None:
    assert abort_reason(text, kind) == ""


_WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=6), min_size=2, max_size=12, unique=True)


@given(_WORDS, st.integers(1, 11))
def test_fewer_rounds_than_twelve_in_a_string_of_json_go_on(words: list[str], rounds: int) -> None:
    phrase = f"{' '.join(words)} "
    assert abort_reason(f'{{"a": 1, "b": "It began: {phrase * rounds}', "json") == ""


@given(_WORDS, st.integers(90, 100), st.integers(0, 90))
def test_a_string_of_json_that_does_not_end_is_found_wherever_it_is(
    words: list[str], rounds: int, cut: int
) -> None:
    phrase = f"{' '.join(words)} "
    text = f'{{"a": 1, "b": "It began: {phrase * rounds}'
    assert "over and over" in abort_reason(text[: len(text) - cut], "json")


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=6), max_size=80, unique=True))
def test_a_text_that_never_says_a_word_twice_goes_on(words: list[str]) -> None:
    assert abort_reason(" ".join(words), "text") == ""
