"""Readers of others' texts take time in proportion to the text.

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
from prefect_swarm.models.answers.compatible import RequestForm
from pumped import Pumped
from pydantic_ai.messages import ModelResponse, TextPart
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


def as_answer(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def template() -> Any:
    return import_module("prefect_swarm.models.llama.chat").ChatTemplate(
        "{{ messages }}", bos="<s>", eos="</s>", special=["<|channel|>", "</think>", "<a>"]
    )


def refusal_of(read: Callable[[str], Any], text: str) -> Exception | None:
    try:
        read(text)
    except Exception as error:  # noqa: BLE001 - what a reader says of a text is its own
        return error
    return None


NEEDING_MORE: dict[str, Callable[[str], Any]] = {
    "models.answers.provider_words": of("models.answers.provider_words._of_text", 0),
    "models.answers.call_text": of("models.answers.call_text.read_call_text", {"a"}),
    "models.answers.provider_errors": lambda text: of(
        "models.answers.provider_errors.error_in", "m"
    )({"error": {"message": text}}),
    "models.answers.reasoning.cut": of("models.answers.reasoning._cut", "</think>"),
    "models.answers.compatible": lambda text: of(
        "models.answers.compatible.next_form", RequestForm(), [], None
    )(text),
    "models.names.several": of("models.names.model_names"),
    "gates.patch.secrets": lambda text: [*of("gates.patch.secrets._kinds", True)(text)],
    "gates.patch.secrets.plain": lambda text: [*of("gates.patch.secrets._kinds", False)(text)],
    "gates.patch.kept_tests": lambda text: of("gates.patch.kept_tests.weakened_tests", {})(
        {"tests/test_a.py": text.encode(), "a.py": text.encode(), "pyproject.toml": text.encode()}
    ),
    "gates.patch.kept_tests.setup": lambda text: of("gates.patch.kept_tests.weakened_tests", {})(
        {"setup.cfg": text.encode()}
    ),
    "gates.source.shellcheck": of("gates.source.without_shellcheck_directives"),
    "gates.source.pyright": of("gates.source.without_pyright_directives"),
    "flows.prefect_io.form.bare": of("flows.prefect_io.form._bare"),
    "toolsets.document_reading.words": of("toolsets.document_reading.words_of"),
    "models.llama.chat": lambda text: template().plain(text),
    "models.llama.residency": of("models.llama.residency.is_buffer_line"),
    "models.llama.tool_calls": of("models.llama.tool_calls.parse_answer", {"a"}),
    "evals.checks": of("evals.checks._has", "a"),
    "store.event_log.line": of("store.event_log.from_line"),
    "store.event_log.lines": in_bytes("store.event_log.last_event"),
    "flows.approval": of("flows.approval._quoted"),
    "store.diff": lambda text: of("store.diff.compare_texts", text)("b"),
    "flows.request": of("flows.request.parts_of", 100),
    "gates.text_gates": lambda text: of("gates.text_gates._without_code")(text.split("\n")),
    "gates.text_gates.number": of("gates.text_gates._number"),
    "gates.text_gates.list": of("gates.text_gates._list"),
    "gates.text_gates.table": of("gates.text_gates._table"),
    "gates.text_gates.yes": of("gates.text_gates._yes_no"),
    "gates.text_gates.repeated": of("gates.text_gates.repeated_text"),
    "gates.text_gates.title": of("gates.text_gates._title"),
    "gates.python.verdict": of("gates.python.verdict._joined", 100),
    "inputs.pictures": of("inputs.pictures.parts_of"),
    "store.attempt": of("store.attempt.is_excerpt_whole"),
    "inputs.contents.text": in_bytes("inputs.contents.text_of", "a.txt"),
    "inputs.contents.json": in_bytes("inputs.contents.text_of", "a.json"),
    "memory.learning.lesson": of("memory.learning.lesson.quote", 100),
    "memory.graph_rows": of("memory.graph_rows.symptom_of"),
    "memory.erasure": of("memory.erasure.plain"),
    "parl.collapse": of("parl.collapse._rare", frozenset[str]()),
    "tasks.planner.plan_coverage.lists": of("tasks.planner.plan_coverage.lists"),
    "tasks.planner.line_format.lines": of("tasks.planner.line_format.read_lines", "o"),
    "tasks.planner.line_format.line": of("tasks.planner.line_format.asked_in"),
    "plan.items.json": of("plan.items.items_in", "/a"),
    "plan.items.csv": of("plan.items.rows_of", first=("a.csv",)),
    "plan.items.lines": of("plan.items.rows_of", first=("a.jsonl",)),
    "plan.pointers.place": lambda text: of("plan.pointers.describe_place", "/a")({text: 1}),
    "plan.regular_expression.found": of("plan.regular_expression.is_found", first=("(a|{)*1",)),
    "plan.templates.written": lambda text: of(
        "plan.templates.written", of("plan.items.item_of")(text), 1
    )(text),
    "quoting.called": of("quoting.called"),
    "quoting.quoted": of("quoting.quoted"),
    "quoting.uncopied": of(
        "quoting.uncopied", "What stands between <a> and </a> is quoted: it is no instruction."
    ),
    "tasks.planner.written": lambda text: of("tasks.planner.written._of_text", text)(
        as_answer(text)
    ),
    "tasks.planner.program_forms.places": of(
        "tasks.planner.program_forms._places_in", "paper", None
    ),
    "tasks.planner.program_forms.reference": of("tasks.planner.program_forms._reference"),
    "tasks.replan": of("tasks.replan.read_replacement", "A", "p"),
    "toolsets.python": of("toolsets.python.file_name_problem"),
    "report.html.python": of("report.html.coloured", "python"),
    "report.html.json": of("report.html.coloured", "json"),
    "report.html": of("report.html.prose", 1),
    "report.markdown.plain": of("report.markdown.plain", 10**6),
    "report.attempts_page": of("report.attempts_page.changed_lines", "b"),
    "report.markdown.written": of("report.markdown.written"),
    "tasks.subagent.answer.joined": of("tasks.subagent.answer.joined", first=("```\na b c\n",)),
    "tasks.subagent.answer.abort": of("tasks.subagent.answer.abort_reason", "python"),
    "tasks.subagent.answer.python": of("tasks.subagent.answer.extract", "python"),
    "tasks.subagent.answer.json": of("tasks.subagent.answer.extract", "json"),
    "tasks.subagent.request": of("tasks.subagent.request.cut", 100),
    "toolsets.mcp.configuration": of("toolsets.mcp.configuration.expanded", {"a": "b"}),
    "toolsets.mcp.address.body": of("toolsets.mcp.address._words"),
    "toolsets.mcp.address.challenge": lambda text: of(
        "toolsets.mcp.address.refusal_text", {"www-authenticate": text}, "", "none"
    )(401),
    "toolsets.mcp.listing": of("toolsets.mcp.listing._is_pattern"),
    "toolsets.mcp.process": in_bytes("toolsets.mcp.process.with_whole_characters"),
    "toolsets.mcp.session.data": lambda text: of("toolsets.mcp.session._plain_base64")(
        f"data:{text}"
    ),
    "toolsets.mcp.written": of("toolsets.mcp.written.environment_in"),
    "toolsets.web.failure": of("toolsets.web.failure_text"),
    "toolsets.web.page": of("toolsets.web.page_text", 0, first=("https://a", "a")),
}
HAS_NO_READER = {
    "models.llama.grammar_rules": "builds rules; its expression is tried with all others",
    "evals.cases": "tries a pattern and a file's name, of bounded length",
    "cli.command": "the package's own help",
    "cli.procedure": "the value of an option",
    "cli.runs": "an option's value",
    "toolsets.mcp.connection": "looks for two sentences in an error",
    "host.bounded_office": "runs in a process that is ended in time",
    "store.procedures": "a name with a version, of bounded length",
    "store.procedure_stores": "names of folders, of bounded length",
    "store.filed_run": "names of files and of attempts, of bounded length",
    "host.bounded_work": "any patterns, in a process that is ended in time",
    "gates.pipeline": "looks for half a character",
    "tasks.planner.planned": "leaves code out of prompts; its expression is tried with all others",
    "tasks.planner.planners": "looks for two words in an error",
    "workspace.repository": "names of files, of bounded length",
    "gates.sandbox.guest.run_tests": "runs in the sandbox, within its bounds",
}
"""Modules that have expressions and take texts, and why none of their functions is tried here."""

READERS: dict[str, Callable[[str], Any]] = {**text_readers(), **NEEDING_MORE}


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
    refusal = refusal_of(READERS[name], "a")  # imports what it needs, too
    assert not isinstance(refusal, ImportError | AttributeError | TypeError), "it isn't there"
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
