"""Python blocks of the pages: their needs, their output, and the test that runs each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from documented.fences import Fence
from documented.stand_in import answer
from provider_server import Asked, Reply

__all__ = ["BLOCKS", "Block", "block_of"]


@dataclass(frozen=True, slots=True)
class Block:
    """A block that needs something, prints something, or is run by another test.

    Attributes:
        holds: A text that this block of its page has and no other.
        prints: An expression for all that it prints.
        scene: What is run before; the id of its last run stands for the page's.
        put: Texts of the block, and what stands for them in a test.
        after: What `holds` says of the block that the reader has run before, with the same names.
        weights: A name that the embedded model's file has here as well.
        reply: What its models answer.
        asks_model: Whether it asks the embedded model.
        run_by: The test that runs it, as `file::function`.
        not_run: Why no test runs it.
    """

    holds: str
    prints: str = ""
    scene: str = "nothing"
    put: Mapping[str, str] = field(default_factory=dict[str, str])
    after: str = ""
    weights: str = ""
    reply: Callable[[Asked], Reply] = answer
    asks_model: bool = False
    run_by: str = ""
    not_run: str = ""


def _verdict(asked: Asked) -> Reply:
    """Answer with the fields that the page asks for; who has the page's tool calls it first."""
    if "winner" in "".join(asked.texts):
        return Reply('{"winner": "tea", "reasons": ["A cup has 47 mg of caffeine."]}')
    tools = [tool["function"]["name"] for tool in asked.body.get("tools") or []]
    if "caffeine" not in tools:
        return answer(asked)
    if not any(message["role"] == "tool" for message in asked.body["messages"]):
        return Reply(tool_args={"drink": "tea"})
    return Reply("A cup of tea has 47 mg of caffeine.")


def _problem(asked: Asked) -> Reply:
    return Reply('{"place": "south pier", "problem": "It is closed."}')


def _invoice(asked: Asked) -> Reply:
    """Answer as the page's clerk, who can't read the last invoice."""
    if "A-3" in asked.prompt:
        return Reply("It can't be read.")
    return Reply('{"number": "A-1", "total": 12.5}')


_MEMORY = "tests/docs/test_memory_doc.py::test_the_{}"
_OWN_GATE = "tests/docs/test_own_gate.py::test_{}"

BLOCKS: Mapping[str, tuple[Block, ...]] = MappingProxyType(
    {
        "README.md": (Block("swarm(", prints=r"A note of .* ends here\. \d\.\d+ 0\.\d+\n"),),
        "docs/how-to/approval.md": (
            Block("RunWaitingError", prints=r"(?s).*\bS3\b.*\nA note of [^\n]*\n"),
        ),
        "docs/how-to/blocks.md": (
            Block(
                "SharedOptions",
                run_by="tests/docs/test_blocks_doc.py::"
                "test_the_block_is_saved_and_the_deployment_has_what_its_file_names",
            ),
        ),
        "docs/how-to/deploy.md": (
            Block(
                "run_deployment",
                run_by="tests/test_deployment.py::test_the_program_of_the_page_has_the_result",
            ),
        ),
        "docs/tutorials/repeatable.md": (
            Block("ledger", not_run="it serves until Ctrl-C: the page's session starts it"),
        ),
        "docs/how-to/files.md": (Block("TaskIR.from_items", reply=_problem),),
        "docs/how-to/forget.md": (
            Block("forget(", run_by=_MEMORY.format("program_that_forgets_says_what_went")),
        ),
        "docs/how-to/procedures.md": (
            Block(
                "find_procedure",
                run_by="tests/docs/test_procedures_doc.py::"
                "test_its_file_is_a_procedure_that_its_program_runs",
            ),
        ),
        "docs/how-to/fork.md": (
            Block("fork(", prints=r"\['S1', 'S2', 'S3'\]\n", scene="done", put={"S5": "S4"}),
        ),
        "docs/how-to/local_models.md": (
            Block('save("large")', weights="large.gguf"),
            Block("look_up", weights="qwen2.5-7b-instruct-q4_k_m.gguf"),
        ),
        "docs/how-to/models.md": (
            Block("TestModel", prints=r"completed success \(no tool calls\)\n"),
            Block("Verdict", prints=r"tea\n", reply=_verdict),
        ),
        "docs/how-to/nested.md": (
            Block("asyncio.gather", prints=r"\['A note of [^\n]*', 'A note of [^\n]*'\]\n"),
            Block("describe.map", prints=r"\['A note of [^\n]*', 'A note of [^\n]*'\]\n"),
            Block(
                "run_deployment",
                run_by="tests/test_typed_results.py::"
                "test_the_flow_of_the_page_takes_the_answer_of_a_deployments_run_as_its_type",
            ),
        ),
        "docs/how-to/report.md": (Block("report_html", after="await swarm"),),
        "docs/how-to/results.md": (
            Block(
                "swarm_sync",
                prints=(
                    r"Run \w+ completed, 1 item missing: 1 of 1 step done\n"
                    r"[^\n]* calls, [^\n]* tokens[^\n]*\nAnswer: \[[^\n]*\n"
                    r"12\.5\n25\.0\nS1\[3\] A-3 \d\n"
                ),
                reply=_invoice,
            ),
        ),
        "docs/how-to/tools.md": (Block("weather", prints=r"(?s).+\n", asks_model=True),),
        "docs/how-to/traces.md": (Block("logfire", not_run="it needs an account at Logfire"),),
        "docs/reference/events.md": (
            Block(
                "stream(",
                prints=r"(?s)1 began \n.*S1 A note.*\ncompleted A note of [^\n]*\n",
                # A provider's texts are events only where it is asked to stream.
                put={
                    "import stream": "import SwarmOptions, stream",
                    'model="demo"': "options=SwarmOptions(stream_text=True)",
                },
            ),
        ),
        "docs/reference/memory.md": (
            Block("question.sql", run_by=_MEMORY.format("sql_in_the_page_answers")),
            Block("question.cypher", run_by=_MEMORY.format("cypher_in_the_page_answers")),
        ),
        "docs/reference/personas.md": (
            Block(
                "PersonaStore",
                run_by="tests/docs/test_personas_doc.py::test_the_program_and_the_query_run",
            ),
        ),
        "docs/tutorials/own_gate.md": (
            Block(
                "class Placeholders", run_by=_OWN_GATE.format("the_page_shows_the_example_itself")
            ),
            Block("import Placeholders", run_by=_OWN_GATE.format("its_test_in_the_page_holds")),
        ),
    }
)
"""Blocks by their pages; one that isn't here needs nothing and prints nothing."""


def block_of(fence: Fence) -> Block:
    """Return what is known of a block."""
    return next((b for b in BLOCKS.get(fence.page, ()) if b.holds in fence.text), Block(""))
