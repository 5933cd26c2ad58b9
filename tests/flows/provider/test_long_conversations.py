"""A conversation that comes near its model's context is sent shorter, and the step goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest
from prefect_swarm import override_toolsets
from prefect_swarm.cli.app import app
from prefect_swarm.errors import Category
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.attempt import Attempt
from prefect_swarm.store.events import TextEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.tasks.subagent.conversation import SUMMARY_INSTRUCTIONS
from provider_runs import ONCE, end_at, prose
from provider_server import Asked, ProviderServer, Reply, provider_server
from pydantic_ai.toolsets import FunctionToolset
from run_events import kept_events
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_TASK = "Find the price of tea on every page."
_KNOWN = "gpt-4"
"""A model whose context is known: 8,192 tokens."""
_CONTEXT = 8192
_SUMMARY = "Pages 0 to 9 said that tea is 3."


def reading(**fields: Any) -> TaskIR:
    agents = [{"name": "Reader", "system_prompt": "You look things up.", "tools": ["library"]}]
    step = {"id": "S1", "agent": "Reader", "prompt": _TASK, **fields}
    return parse_plan({"objective": "Find out", "agents": agents, "steps": [step]})


def size_of(asked: Asked) -> int:
    """Tokens of a request as the server counts them."""
    read = (asked.body.get("messages"), asked.body.get("tools"))
    return len(json.dumps(read)) // 4


@dataclass
class Reading:
    """Calls `read` for one page after the other, and then answers; refuses what is too large.

    Attributes:
        pages: How many pages there are.
        context: Tokens of a request that it takes.
        thinks: What it writes beside each call.
        summary: What it answers where it is asked for a summary.
    """

    pages: int
    context: int = _CONTEXT
    thinks: Callable[[int], str] = lambda _: ""
    summary: Reply = field(default_factory=lambda: Reply(_SUMMARY))
    refused: int = 0
    summaries: int = 0
    called: int = 0

    def __call__(self, asked: Asked) -> Reply:
        size = size_of(asked)
        if size > self.context:
            self.refused += 1
            words = f"maximum context length is {self.context} tokens, you requested {size} tokens."
            return Reply(
                status=400,
                error={"message": f"This model's {words}", "code": "context_length_exceeded"},
            )
        if is_summary(asked):
            self.summaries += 1
            return self.summary
        if self.called == self.pages:
            return Reply("Tea is 3.", input_tokens=size)
        self.called += 1
        thought = self.thinks(self.called)
        return Reply(thought, tool_args={"page": self.called - 1}, input_tokens=size)


def serving(reply: Callable[[Asked], Reply]) -> AbstractContextManager[ProviderServer]:
    return provider_server(reply, models=(_KNOWN, "strong-model"))


def is_summary(asked: Asked) -> bool:
    return asked.texts[0] == SUMMARY_INSTRUCTIONS


def requests_of(server: ProviderServer) -> list[Asked]:
    """The requests of the conversation, without those for summaries."""
    return [asked for asked in server.asked if not is_summary(asked)]


def library(words: int | Callable[[int], int]) -> FunctionToolset[None]:
    def read(page: int) -> str:
        return prose(f"page {page}", words if isinstance(words, int) else words(page))

    tools = FunctionToolset[None]()
    tools.add_function(read)
    return tools


def ended(
    server: ProviderServer, plan: TaskIR | None = None, model: str = _KNOWN, **options: Any
) -> SwarmResult:
    given: dict[str, Any] = {"tool_limits": {"calls": 80}, "policy": ONCE, "max_attempts": 1}
    return end_at(server, plan or reading(), **{"model": server.name(model), **given, **options})


def attempt_of(result: SwarmResult) -> Attempt:
    (attempt,) = result.steps[0].attempts
    return attempt


def orphans(asked: Asked) -> list[str]:
    """Calls without their results, and results without their calls."""
    open_calls: list[str] = []
    found: list[str] = []
    for message in asked.body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] in open_calls:
                open_calls.remove(message["tool_call_id"])
            else:
                found.append(message["tool_call_id"])
        else:
            found += open_calls
            open_calls = [call["id"] for call in message.get("tool_calls") or []]
    return [*found, *open_calls]


def replaced(asked: Asked) -> list[str]:
    return [text for text in asked.texts if text.startswith("[Left out to make room. ")]


def test_a_conversation_of_sixty_results_that_do_not_fit_comes_to_its_answer() -> None:
    reply = Reading(60)
    with serving(reply) as server, override_toolsets(library=library(200)):
        result = ended(server)
    assert (result.status, result.answer) == ("completed", "Tea is 3."), attempt_of(result).error
    assert (reply.called, reply.refused) == (60, 0)
    assert len(attempt_of(result).calls) == 60
    asked = requests_of(server)
    assert len(asked) == 61
    assert not any(map(orphans, asked))
    assert all(_TASK in each.texts[1] for each in asked)
    assert all(each.texts[0].startswith("You look things up.") for each in asked)


def test_the_oldest_results_are_lines_that_say_what_they_were_and_where_they_are() -> None:
    with serving(Reading(60)) as server, override_toolsets(library=library(200)):
        result = ended(server)
    asked = requests_of(server)
    first = next(each for each in asked if replaced(each))
    line = replaced(first)[0]
    assert 'Call 1 of S1.1, read({"page": 0}), gave 1,' in line
    assert line.endswith(" characters; the run has them.]")
    # The two newest exchanges are as they were.
    assert "Findings about page" in first.texts[-1]
    assert "Left out" not in first.texts[-1] + first.texts[-3]
    journal = RunFolder.of(result.flow_run_id).folder / "calls"
    assert "Findings about page 0." in "".join(each.read_text() for each in journal.iterdir())


def is_continued(before: Asked, asked: Asked) -> bool:
    return asked.texts[: len(before.texts)] == before.texts


def test_what_is_left_out_is_counted_and_changes_seldom() -> None:
    with serving(Reading(60)) as server, override_toolsets(library=library(200)):
        result = ended(server)
    compactions = attempt_of(result).compactions
    asked = requests_of(server)
    changed = [
        n for n in range(1, 61) if asked[n].texts[: len(asked[n - 1].texts)] != asked[n - 1].texts
    ]
    assert [each.request for each in compactions] == [n + 1 for n in changed]
    assert 2 <= len(compactions) <= 60 // 4
    assert all(each.tokens_saved > 0 for each in compactions)
    assert compactions[0].results == len(replaced(asked[changed[0]]))
    page = CliRunner().invoke(app, ["inspect", result.run_id, "--step", "S1"]).stdout
    assert f"conversation made shorter {len(compactions)} times: " in page
    assert " tool results left out" in page


def test_where_lines_are_not_enough_the_oldest_answers_are_summarised() -> None:
    reply = Reading(40, thinks=lambda n: prose(f"thought {n}", 150))
    with serving(reply) as server, override_toolsets(library=library(100)):
        result = ended(server)
    assert result.status == "completed", attempt_of(result).error
    assert (reply.called, reply.refused) == (40, 0)
    assert 1 <= reply.summaries <= 10
    last = requests_of(server)[-1]
    assert _TASK in last.texts[1]
    assert _SUMMARY in last.texts[1]
    assert not any(map(orphans, requests_of(server)))
    attempt = attempt_of(result)
    assert sum(each.exchanges for each in attempt.compactions) > 0
    assert attempt.usage.requests == len(server.asked) == result.cost.calls


def test_a_summary_is_asked_for_with_the_results_as_they_were() -> None:
    reply = Reading(40, thinks=lambda n: prose(f"thought {n}", 150))
    with serving(reply) as server, override_toolsets(library=library(100)):
        ended(server)
    asked = next(filter(is_summary, server.asked))
    assert "Findings about page 0." in asked.prompt
    assert "Findings about thought 1." in asked.prompt
    assert _TASK in asked.prompt
    assert not asked.body.get("tools")


def test_a_summary_is_not_shown_as_what_the_step_writes() -> None:
    reply = Reading(24, thinks=lambda n: prose(f"thought {n}", 100))
    with serving(reply) as server, override_toolsets(library=library(100)):
        result = ended(server, stream_text=True)
    assert result.status == "completed", attempt_of(result).error
    assert reply.summaries > 0
    written = [each.text for each in kept_events(result.run_id) if isinstance(each, TextEvent)]
    assert "Tea is 3." in "".join(written)
    assert _SUMMARY[:20] not in "".join(written)


@pytest.mark.parametrize(
    "summary", [Reply("I'm sorry, but I can't help with that."), Reply("", status=400), Reply("")]
)
def test_what_is_no_summary_stands_for_nothing_and_is_not_asked_for_again(summary: Reply) -> None:
    reply = Reading(24, thinks=lambda n: prose(f"thought {n}", 100), summary=summary)
    with serving(reply) as server, override_toolsets(library=library(100)):
        ended(server)
    assert sum(map(is_summary, server.asked)) >= 1
    assert all(
        message.count("can't help") == 0 for each in requests_of(server) for message in each.texts
    )
    assert all(len(each.body["messages"]) % 2 == 0 for each in requests_of(server))


def test_a_result_larger_than_the_whole_context_is_cut_and_the_others_stay() -> None:
    reply = Reading(4)
    sizes = library(lambda page: 20_000 if page == 2 else 50)
    with serving(reply) as server, override_toolsets(library=sizes):
        result = ended(server, tool_limits={"calls": 9, "characters": 200_000})
    assert result.status == "completed", attempt_of(result).error
    assert (reply.called, reply.refused) == (4, 0)
    asked = requests_of(server)[3]
    assert not replaced(asked)
    assert "characters are left out here" in asked.texts[-1]
    assert "[Cut to make room. The run has the " in asked.texts[-1]
    (made,) = [each for each in attempt_of(result).compactions if each.cut]
    assert (made.request, made.cut, made.results) == (4, 1, 0)


def test_a_provider_that_refuses_by_its_context_is_asked_once_more_with_less() -> None:
    reply = Reading(20, context=3000)
    with serving(reply) as server, override_toolsets(library=library(200)):
        result = ended(server, model="strong-model")
    assert result.status == "completed", attempt_of(result).error
    assert reply.called == 20
    # What it refused is known from then on.
    assert reply.refused == 1
    assert not any(map(orphans, requests_of(server)))


def test_what_does_not_fit_however_much_is_left_out_is_over_the_budget_and_says_so() -> None:
    reply = Reading(5, context=0)
    with serving(reply) as server, override_toolsets(library=library(200)):
        attempt = attempt_of(ended(server, model="strong-model"))
    assert attempt.category is Category.BUDGET
    assert "There is no result of a tool that could be left out." in str(attempt.error)
    assert len(server.asked) == 1


def test_a_model_that_refuses_what_is_left_is_asked_no_third_time() -> None:
    reply = Reading(20, context=3000)

    def refusing(asked: Asked) -> Reply:
        reply.context = 3000 if reply.refused == 0 else 10
        return reply(asked)

    with serving(refusing) as server, override_toolsets(library=library(200)):
        attempt = attempt_of(ended(server, model="strong-model"))
    assert attempt.category is Category.BUDGET
    assert reply.refused == 2
    assert re.search(r"That is with \d+ tool results? left out and \d cut\.", str(attempt.error))


def test_a_result_that_is_left_out_may_be_read_again_with_the_same_call() -> None:
    reply = Reading(40)

    def again(asked: Asked) -> Reply:
        answer = reply(asked)
        if answer.tool_args and (reply.called - 1) % 13 == 0:
            return Reply(tool_args={"page": 0}, input_tokens=answer.input_tokens)
        return answer

    with serving(again) as server, override_toolsets(library=library(200)):
        result = ended(server)
    read = [call for call in attempt_of(result).calls if call.arguments == '{"page": 0}']
    assert [call.outcome for call in read] == ["returned"] * 4
