"""Artifacts as steps make them, as many as are wanted and no two alike. All pass their gates."""

from __future__ import annotations

import json
from typing import Any

from prefect_swarm.gates import StepOutput, Subject
from prefect_swarm.plan.task_ir import Output, OutputKind

__all__ = ["asked_form", "joined", "python_prompt", "subject_of", "tested"]

_PYTHON = '''\
"""Bills of customer {n}."""

from __future__ import annotations

from collections.abc import Iterable

RATE = {n}


def net(lines: Iterable[tuple[int, float]]) -> float:
    """Return the sum of all lines, each a count and a price."""
    total = 0.0
    for count, price in lines:
        if count < 0:
            raise ValueError("a count is negative")
        total += count * price
    return total


def gross_{n}(lines: Iterable[tuple[int, float]], rate: float = RATE) -> float:
    """Return the sum with tax, rounded to cents."""
    return round(net(lines) * (1 + rate / 100), 2)
'''
_TESTS = """

def test_nothing_costs_nothing():
    assert gross_{n}([]) == 0


def test_tax_is_added():
    assert gross_{n}([(2, 50.0)]) == 100 + RATE
"""
_JOINED = """\
from customer_{n} import gross_{n}


def year(months):
    return sum(gross_{n}(lines) for lines in months)


def test_a_year_is_the_sum_of_its_months():
    assert year([[(2, 50.0)], [], [(2, 50.0)]]) == 2 * (100 + {n})
"""
_TABLE = """\
| Month | Bills of customer {n} |
|---|---|
| June | {n} |
"""
_SHELL = """\
#!/bin/bash
# Report {n}: how many lines each file of a folder has, the longest file first.
set -euo pipefail

folder=${{1:-.}}
if [[ ! -d $folder ]]; then
  echo "no folder: $folder" >&2
  exit 1
fi
for file in "$folder"/*; do
  [[ -f $file ]] || continue
  printf '%s %s\\n' "$(wc -l <"$file")" "$file"
done | sort -rn | head -n {n}
"""
_TEXT = """\
# Pros
The plan of team {n} saves time, since its members can work side by side, and nobody has to wait for
anybody before the end. It is easy to follow and cheap to change.

# Cons
It asks much of the one who joins the results [notes]. If two members read the task in different
ways the whole has to be written anew, which takes about {n} hours more than doing it in turn.
"""
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "customer": {"type": "integer"},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["name", "count"],
            },
        },
    },
    "required": ["customer", "lines"],
}


def subject_of(kind: OutputKind, n: int) -> Subject:
    """Return artifact number `n` of a kind, with what its step would ask for."""
    match kind:
        case "python":
            call = f"gross_{n}([(2, 50.0)])"
            output: dict[str, Any] = {"examples": [{"call": call, "gives": 100 + n}]}
            text = _PYTHON.format(n=n)
        case "json":
            lines = [{"name": f"thing {number}", "count": n} for number in range(8)]
            output, text = {"schema": _SCHEMA}, json.dumps({"customer": n, "lines": lines})
        case "shell":
            output, text = {}, _SHELL.format(n=n)
        case _:
            output = {"sections": ["Pros", "Cons"], "min_words": 20, "max_words": 200}
            output["citations"] = True
            text = _TEXT.format(n=n)
    return Subject(
        artifact=text,
        output=Output.model_validate({"kind": kind, **output}),
        upstream=(StepOutput(name="notes", text="What was said."),) if kind == "text" else (),
    )


def tested(n: int) -> Subject:
    """Return a Python artifact that brings tests of its own, and has no examples."""
    text = _PYTHON.format(n=n) + _TESTS.format(n=n)
    return Subject(artifact=text, output=Output(kind="python"))


def joined(n: int) -> Subject:
    """Return a Python artifact that imports what its step read, and tests both together."""
    read = StepOutput(name=f"customer_{n}", kind="python", text=_PYTHON.format(n=n))
    text = _JOINED.format(n=n)
    return Subject(artifact=text, output=Output(kind="python"), upstream=(read,))


def asked_form(n: int) -> Subject:
    """Return a text in the form that its step asks for: a table."""
    return Subject(artifact=_TABLE.format(n=n), output=Output(form="table"))


def python_prompt(n: int) -> str:
    """Return what a step would ask for that makes the Python artifact of that number."""
    return (
        f"Write a Python module with a function gross_{n}(lines, rate={n}) that returns the sum of "
        "all lines, each a pair of a count and a price, with the rate added in percent and rounded "
        "to cents. A negative count raises ValueError."
    )
