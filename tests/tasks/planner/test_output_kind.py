"""A step's prompt says what it has to produce, and what isn't plain is text."""

from __future__ import annotations

import pytest
from prefect_swarm.tasks.planner.line_format import output_kind


@pytest.mark.parametrize(
    "prompt",
    [
        "Write a Python function slugify(text) that lowers and hyphenates",
        "Write a function in Python that adds two numbers",
        "Implement `parse_date` as a Python module",
        "Create a small Python class for a stack",
        "Write tests for slugify with pytest",
        "Write the pytest tests of slugify",
        "Write utils.py with two helpers",
        "Python function that reverses a list",
    ],
)
def test_python(prompt: str) -> None:
    assert output_kind(prompt) == "python"


@pytest.mark.parametrize(
    "prompt", ["Write a bash script that counts files", "Create backup.sh for /etc"]
)
def test_shell(prompt: str) -> None:
    assert output_kind(prompt) == "shell"


@pytest.mark.parametrize(
    "prompt",
    ["Return the cities as JSON", "List the three cities as JSON", "Write a JSON object of it"],
)
def test_json(prompt: str) -> None:
    assert output_kind(prompt) == "json"


@pytest.mark.parametrize(
    "prompt",
    [
        "Explain what a Python function is",
        "Describe the Python script in backup.sh",
        "Write a poem about a python",
        "Write a letter to the class of 1990",
        "Compare Python and Go for a web server",
        "Translate the function of the kidney into plain words",
        "Write a function in Rust that adds two numbers",
        "Summarise the shell script",
        "Write an essay on code and its makers",
    ],
)
def test_text(prompt: str) -> None:
    assert output_kind(prompt) == "text"
