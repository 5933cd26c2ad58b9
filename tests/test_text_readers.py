"""What reads a text that others wrote takes time in proportion to it.

Readers are found: each function of a pure module that needs a text alone. Those that need more
stand here with it. A module that has regular expressions and takes texts has to be among them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest
from found_patterns import modules_that_match
from growth import grows_faster
from pumped import Pumped
from text_readers import reads_text, text_readers

_SIZE = 200

LINES = (
    'a|a |1|1,|-|- a\n|a: b\n|a,b\n|{|[|(|{"a":|{"a":1}|{"a":1,|[1,|{}\n|"|"\\|\'|`|```\n',
    "```json\n{\n|``a|<|<a|<a>|</a>|<think>|</think>|<tool_call>|<function=a>|# a\n|> |*|_a",
    "![a](b)|[a](|http://a:|a/|a.|a.b |,|;|data: {}\n\n|token=|S1 |&|\\|\r\n|é|1. a: b\n|${a| |\n",
)
PUMPS = [
    *(Pumped("", piece, "") for line in LINES for piece in line.split("|")),
    Pumped("", " ", "x"),
    Pumped("", "\n", "x"),
    Pumped("", '{"a":[', "]"),
    Pumped('"', '\\"', ""),
    Pumped("```\n", "a\n", ""),
    Pumped("", "|a|\n", ""),
    Pumped("", "<|channel|>a<|message|>", ""),
    Pumped("", "\x1b[", ""),
]


def of(name: str, *more: Any, first: tuple[Any, ...] = ()) -> Callable[[Any], Any]:
    """Return a reader by its name, with what it needs before and after the text."""
    module, _, function = name.rpartition(".")

    def read(text: Any) -> Any:
        return getattr(import_module(f"prefect_swarm.{module}"), function)(*first, text, *more)

    return read


def in_bytes(name: str, *more: Any) -> Callable[[str], Any]:
    read = of(name, *more)
    return lambda text: read(text.encode())


NEEDING_MORE: dict[str, Callable[[str], Any]] = {
    "blocks.answers.bodies.error": of("blocks.answers.bodies._of_text", 0),
    "blocks.answers.call_text": of("blocks.answers.call_text.read_call_text", {"a"}),
    "blocks.answers.provider_errors": lambda text: of(
        "blocks.answers.provider_errors.error_in", "m"
    )({"error": {"message": text}}),
    "blocks.answers.reasoning.cut": of("blocks.answers.reasoning._cut", "</think>"),
    "blocks.llama.tools.parse": of("blocks.llama.tools.parse.parse_answer", {"a"}),
    "evals.checks": of("evals.checks._has", "a"),
    "flows.compared.texts": lambda text: of("flows.compared.texts.compare_texts", text)("b"),
    "flows.bounds.summaries": of("flows.bounds.summaries.parts_of", 100),
    "gates.text.citations": lambda text: of("gates.text.citations._without_code")(text.split("\n")),
    "gates.text.form.number": of("gates.text.form._number"),
    "gates.text.form.list": of("gates.text.form._list"),
    "gates.text.form.table": of("gates.text.form._table"),
    "gates.text.form.yes": of("gates.text.form._yes_no"),
    "gates.text.repetition": of("gates.text.repetition.repeated_text"),
    "gates.text.sections": of("gates.text.sections._title"),
    "gates.python.verdict": of("gates.python.verdict._joined", 100),
    "inputs.contents.text": in_bytes("inputs.contents.text_of", "a.txt"),
    "inputs.contents.json": in_bytes("inputs.contents.text_of", "a.json"),
    "memory.advice.lesson": of("memory.advice.lesson.quote", 100),
    "memory.graph.symptom": of("memory.graph.symptom.symptom_of"),
    "memory.traces.texts": of("memory.traces.texts.plain"),
    "tasks.planner.adapter.enumerations.lists": of("tasks.planner.adapter.enumerations.lists"),
    "tasks.planner.adapter.enumerations.items": of(
        "tasks.planner.adapter.enumerations.listed_items"
    ),
    "tasks.planner.adapter.line_format.lines": of(
        "tasks.planner.adapter.line_format.read_lines", "o"
    ),
    "tasks.planner.adapter.line_format.line": of("tasks.planner.adapter.line_format.asked_in"),
    "tasks.replan": of("tasks.replan.read_replacement", "A", "p"),
    "tasks.report.html.coloured.python": of("tasks.report.html.coloured.coloured", "python"),
    "tasks.report.html.coloured.json": of("tasks.report.html.coloured.coloured", "json"),
    "tasks.report.html.prose": of("tasks.report.html.prose.prose", 1),
    "tasks.report.markdown.plain": of("tasks.report.markdown.plain", 10**6),
    "tasks.report.pages.diffs": of("tasks.report.pages.diffs.changed_lines", "b"),
    "tasks.report.written": of("tasks.report.written.written"),
    "tasks.subagent.continuation": of(
        "tasks.subagent.continuation.joined", first=("```\na b c\n",)
    ),
    "tasks.subagent.early_abort": of("tasks.subagent.early_abort.abort_reason", "python"),
    "tasks.subagent.extraction.python": of("tasks.subagent.extraction.extract", "python"),
    "tasks.subagent.extraction.json": of("tasks.subagent.extraction.extract", "json"),
    "tasks.subagent.text_budget": of("tasks.subagent.text_budget.cut", 100),
    "toolsets.mcp.expanding": of("toolsets.mcp.expanding.expanded", {"a": "b"}),
    "toolsets.mcp.refusal.body": of("toolsets.mcp.refusal._words"),
    "toolsets.mcp.refusal.challenge": lambda text: of(
        "toolsets.mcp.refusal.refusal_text", {"www-authenticate": text}, "", "none"
    )(401),
    "toolsets.mcp.written.forms": of("toolsets.mcp.written.forms.environment_in"),
}
BOUNDED_ELSEWHERE = {
    "evals.located.read_yaml": "YAML, read by its own library; tests of YAML bound it",
}
HAS_NO_READER = {
    "blocks.llama.schemas.rules": "builds rules; its expression is tried with all others",
    "blocks.llama.tools.held_text": "a stream; its tests count its steps",
    "cli.help_text": "the package's own help",
    "cli.output.folder": "names of files, of bounded length",
    "events.reading": "a line of events, by JSON",
    "gates.check": "looks for half a character",
    "gates.sandbox.guest.run_tests": "runs in the sandbox, within its bounds",
}
"""Modules that have expressions and take texts, and why none of their functions is tried here."""

READERS = {
    name: read
    for name, read in {**text_readers(), **NEEDING_MORE}.items()
    if name not in BOUNDED_ELSEWHERE
}


def problem_of(read: Callable[[str], Any], pumped: Pumped) -> str:
    def prepare(size: int) -> Callable[[], object]:
        text = pumped.text(size)

        def call() -> None:
            with suppress(Exception):  # what it says about such a text is not asked here
                read(text)

        return call

    problem = grows_faster(prepare, _SIZE)
    return f"{pumped}: {problem}" if problem else ""


@pytest.mark.attack("growth")
@pytest.mark.parametrize("name", [*READERS])
def test_reading_takes_time_in_proportion_to_the_text(name: str) -> None:
    with suppress(Exception):
        READERS[name]("a")  # imports what it needs
    problems = (problem_of(READERS[name], pumped) for pumped in PUMPS)
    assert next(filter(None, problems), "") == ""


def test_each_module_with_expressions_that_takes_texts_is_read_here() -> None:
    matching = {
        ".".join(module) for module in modules_that_match() if module[:2] != ("parl", "data")
    }
    taking = {name for name in matching if reads_text(tuple(name.split(".")))}
    known = {name for name in taking for reader in READERS if f"{reader}.".startswith(f"{name}.")}
    assert taking - known == HAS_NO_READER.keys()


def test_a_reader_with_the_fault_would_be_found() -> None:
    def slow(text: str) -> int:
        return sum(first == second for first in text for second in text)

    assert problem_of(slow, Pumped("", "<", ""))
    assert not problem_of(str.split, Pumped("", "<", ""))
