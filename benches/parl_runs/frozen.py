"""Frozen subagents: the wide search's scripted reader, and what a plan's answer is worth.

Real are the reading of the plan, its repair, compilation and schedule, PARL's terms, the reader
with its flaws, its requests and their virtual seconds, the corpus and the score. Prefect, gates,
memory and repeated attempts are left out: thousands of rollouts would take days.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from prefect_swarm.parl.rollout import UNREAD, Rollout, StepWork, execute, read_plan, rollout_of
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.tools import ToolDefinition
from wide_search.corpus import OPEN_S, SEARCH_S, Corpus
from wide_search.flaws import Flaws
from wide_search.player import ANSWER_S, SLOTS, Player
from wide_search.questions import Question, hops
from wide_search.reader import Reader
from wide_search.reading import WORDS, Wanted, read_wanted, rows_in
from wide_search.scoring import Row, score_table
from wide_search.virtual_time import VirtualClock, run_at_once

__all__ = ["FrozenReader", "SearchRuns", "merged_rows"]

_MOST_REQUESTS = 2_000


class _CountedClock(VirtualClock):
    """Doesn't wait: who sleeps has the time passed by."""

    async def sleep(self, seconds: float, name: str) -> None:  # noqa: ARG002 - as the clock that waits
        """Let so many virtual seconds pass."""
        self.now += seconds


class FrozenReader:
    """Does steps alone, as the wide search's subagents do; a `Subagent`.

    It doesn't complete a step that asks for no table and no list, or for a column that nobody
    knows, or that finds nothing to list.
    """

    def __init__(self, corpus: Corpus, flaws: Flaws) -> None:
        self._corpus, self._flaws = corpus, flaws
        self._done: dict[str, StepWork] = {}

    def __call__(self, prompt: str, outputs: Sequence[str]) -> StepWork:
        """Do a step; what was done before isn't done again."""
        text = "\n\n".join([*outputs, prompt])
        if (work := self._done.get(text)) is None:
            self._done[text] = work = self._do(text)
        return work

    def _do(self, text: str) -> StepWork:
        if not _can_do(read_wanted(text)):
            return StepWork(None, 1, ANSWER_S)
        clock = _CountedClock()
        began = clock.now
        player = Player(clock, Reader(self._flaws), None, text)
        messages: list[ModelMessage] = [ModelRequest([UserPromptPart(text)])]
        while player.meter.requests < _MOST_REQUESTS:
            response = run_at_once(player(messages, _INFO))
            calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
            if not calls:
                said = "".join(p.content for p in response.parts if isinstance(p, TextPart))
                output = None if said in ("", "[]") else said
                return StepWork(output, player.meter.requests, clock.now - began)
            returns = [self._call(call) for call in calls]
            clock.now += max(SEARCH_S if each.tool_name == "search" else OPEN_S for each in calls)
            messages += [response, ModelRequest([*returns])]
        return StepWork(None, player.meter.requests, clock.now - began)

    def _call(self, call: ToolCallPart) -> ToolReturnPart:
        arguments = call.args_as_dict()
        found = (
            self._corpus.search(arguments["query"])
            if call.tool_name == "search"
            else self._corpus.open(arguments["page"])
        )
        return ToolReturnPart(call.tool_name, found, call.tool_call_id)


def _can_do(wanted: Wanted) -> bool:
    """Whether there is something to list or to look up, and only columns that there are."""
    attributes = {each for column in wanted.columns for each in hops(column)}
    return bool(wanted.of or wanted.names) and attributes <= WORDS.keys()


def _tool(name: str, argument: str, about: str) -> ToolDefinition:
    schema = {
        "type": "object",
        "properties": {argument: {"type": "string"}},
        "required": [argument],
        "additionalProperties": False,
    }
    return ToolDefinition(name=name, description=about, parameters_json_schema=schema)


_INFO = AgentInfo(
    function_tools=[
        _tool("search", "query", "Search the corpus, and return the titles that fit best."),
        _tool("open", "page", "Open a page by its id, such as p0012."),
    ],
    allow_text_output=True,
    output_tools=[],
    model_settings=None,
    model_request_parameters=ModelRequestParameters(),
    instructions="You look things up, and answer with what stands there.",
)


def merged_rows(outputs: Sequence[str]) -> list[Row]:
    """Return the table that the orchestrator's answer has: the rows of all outputs by name."""
    rows: dict[str, dict[str, str]] = {}
    for output in outputs:
        for row in rows_in(output):
            rows.setdefault(row["name"], {}).update({k: v for k, v in row.items() if v})
        for name in _names_in(output):
            rows.setdefault(name, {"name": name})
    return [*rows.values()]


def _names_in(text: str) -> list[str]:
    try:
        value: object = json.loads(text)
    except ValueError:
        return []
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


class SearchRuns:
    """Executes plans for a question, and scores their tables: item F1 is r_perf."""

    def __init__(self, question: Question, subagent: FrozenReader) -> None:
        self._question, self._subagent = question, subagent

    def __call__(self, text: str) -> Rollout:
        """Read, run and score a plan."""
        question = self._question
        if (plan := read_plan(text, question.text)) is None:
            return UNREAD
        execution = execute(plan, self._subagent, SLOTS)
        rows: Sequence[Mapping[str, str]] = merged_rows(execution.last)
        score = score_table(rows, question.rows, question.columns)
        return rollout_of(plan, execution, score.item_f1)
