"""An artifact is taken out of what a model wrote by explicit rules."""

from __future__ import annotations

import pytest
from prefect_swarm.plan.task_ir import OutputKind
from prefect_swarm.tasks.subagent.answer import extract


@pytest.mark.parametrize(
    ("kind", "text", "artifact"),
    [
        ("text", "```\nas it is\n```", "```\nas it is\n```"),
        ("json", '{"a": 1}', '{"a": 1}'),
        ("json", 'Here:\n```json\n{"a": 1}\n```\nDone.', '{"a": 1}'),
        ("json", 'Here:\n```\n{"a": 1}\n```', '{"a": 1}'),
        ("json", "no JSON at all", "no JSON at all"),
        pytest.param("json", "[" * 100_000, "[" * 100_000, id="nested too deeply to read"),
        pytest.param("json", "9" * 5_000, "9" * 5_000, id="a number too long to read"),
        ("python", "```python\nx = 1\n```\n```python\ny = 2\n```", "x = 1"),
        ("python", "```sh\nls\n```\n```py\nx = 1\n```", "x = 1"),
        ("shell", "```bash\nls -l\n```", "ls -l"),
        ("shell", "ls -l", "ls -l"),
        ("shell", "#!/bin/sh\nls -l\n```", "#!/bin/sh\nls -l"),
        ("shell", "#!/bin/sh\nls -l\n```\nIt lists files.", "#!/bin/sh\nls -l"),
        ("shell", "Here it is:\n```\nls -l", "ls -l"),
        ("python", "x = 1\n```\nThis sets x.", "x = 1"),
        ("python", "Here it is:\n```\nx = 1", "x = 1"),
        ("json", '{"a": 1}\n```', '{"a": 1}'),
        ("json", 'It is [1]: {"a": 1}. Done.', '{"a": 1}'),
        ("json", 'First {"a": 1}, at last {"a": {"b": 2}}.', '{"a": {"b": 2}}'),
        ("json", 'As [1] says: ["a"]', '["a"]'),
        ("json", "It is [1, 2].", "[1, 2]"),
        ("json", 'Not {"a": 1,}', 'Not {"a": 1,}'),
        ("json", '{"a": {"b": 1}}, "c": 2}', '{"a": {"b": 1}}, "c": 2}'),
        ("text", 'It is {"a": 1}.', 'It is {"a": 1}.'),
    ],
)
def test_extraction(kind: OutputKind, text: str, artifact: str) -> None:
    assert extract(text, kind).artifact == artifact


@pytest.mark.parametrize(
    ("kind", "text", "rule"),
    [
        ("text", "as it is", "whole text"),
        ("json", "[1]", "whole text, which parses"),
        ("python", "x = 1\nprint(x)", "whole text, which parses"),
        ("python", "Sure:\n```python\nx = 1\n```", "first python block"),
        ("python", "Sure:\n```\nx = 1\n```", "first block without a language"),
        ("shell", "ls -l", "whole text, for want of a block"),
        ("shell", "ls -l\n```", "text before a fence that closes nothing"),
        ("json", "It is [1, 2].", "the only JSON within the text"),
        ("json", 'First {"a": 1}, then {"b": 1}.', "last JSON within the text"),
    ],
)
def test_the_rule_is_said(kind: OutputKind, text: str, rule: str) -> None:
    assert extract(text, kind).rule == rule


def test_the_rule_names_the_reasoning_that_stood_before_it() -> None:
    rule = extract("9 m", "text", reasoning="<think>").rule
    assert rule == "whole text, behind reasoning that began with <think>"


def test_a_block_that_is_never_closed_ends_with_the_text() -> None:
    assert extract("Sure:\n```python\nx = 1\ny = 2", "python").artifact == "x = 1\ny = 2"


def test_an_indented_block_is_a_block() -> None:
    assert extract("1. Do:\n   ```sh\nls\n   ```\nDone", "shell").artifact == "ls"


def test_an_escape_that_python_does_not_know_is_no_reason_to_warn() -> None:
    assert extract(r'x = "\d"', "python").rule == "whole text, which parses"
