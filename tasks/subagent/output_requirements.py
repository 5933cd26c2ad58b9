"""What a step's output has to be, as its agent is told: gates look at nothing else. Pure."""

from __future__ import annotations

import json

from ...task_ir import Form, Output

__all__ = ["output_requirements"]

_FORMS: dict[Form, str] = {
    "one_line": "Answer with one line.",
    "number": "Answer with one number, a unit at most beside it.",
    "yes_no": "Begin the answer with yes or no.",
    "list": "Answer with a list, each entry on a line of its own behind `- `.",
    "table": "Answer with a Markdown table.",
}


def output_requirements(output: Output) -> tuple[str, ...]:
    """Return a sentence for each bound of an output beyond its kind and schema."""
    sentences = [
        f"For example, `{example.call}` gives {_value(example.gives)}."
        for example in output.examples
    ]
    if output.form:
        sentences.append(_FORMS[output.form])
    if output.sections:
        sentences.append(f"Use these headings, in this order: {', '.join(output.sections)}.")
    if output.min_words is not None:
        sentences.append(f"Write at least {output.min_words} words.")
    if output.max_words is not None:
        sentences.append(f"Write at most {output.max_words} words.")
    if output.citations:
        sentences.append("Cite what you read by its name in square brackets, such as [S1].")
    return tuple(sentences)


def _value(value: object) -> str:
    return (
        f"`{value!r}`" if isinstance(value, str | int | float | bool) else f"`{json.dumps(value)}`"
    )
