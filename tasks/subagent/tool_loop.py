"""Answers and calls of tools in turns, each journaled, until the agent has answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic_ai import Agent
from pydantic_ai.agent import AgentRun
from pydantic_ai.exceptions import ModelHTTPError, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.usage import UsageLimits

from ...errors import ContextTooSmallError, EmptyOutputError
from ...models.answers.call_ids import WithOwnIds
from ...models.resolve import takes_pictures
from ...store.attempt import Compaction, ToolCall, Usage
from ...store.runs import open_run
from ...toolsets.calls import JournaledCalls
from ...toolsets.catalogue import Catalogue, ToolsetUse, is_acting
from ...toolsets.journal import CallJournal, Committed
from ...toolsets.offered import AttemptTools
from ...toolsets.policy import AttemptRules, repeats
from ...toolsets.shown import pictures_in
from ...tracing import request_tracing
from ..context import current_task
from ..task_runs import usage_of
from .content import content_of
from .conversation import CompactingModel
from .request import SubagentRequest, pictures_of

__all__ = ["ToolLoop"]


_logger = logging.getLogger("prefect_swarm.tools")

_MORE_REQUESTS = 5
"""Requests beyond the calls that are allowed: for the answer, and for models that call on."""
_REFUSALS = (400, 415, 422)
"""What providers answer where they don't take what a conversation holds."""


@dataclass(slots=True)
class ToolLoop:
    """One attempt of an agent with tools; `messages` is its conversation so far."""

    model: Model
    request: SubagentRequest
    settings: ModelSettings
    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])
    _journaled: JournaledCalls = field(init=False)
    _catalogue: Catalogue = field(init=False)
    _spent: Usage = field(init=False, default_factory=Usage)
    _shows_pictures: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._catalogue = current_task().toolsets
        self._journaled = self._journal(pictures=takes_pictures(self.model))

    def _journal(self, *, pictures: bool) -> JournaledCalls:
        asked, run = self.request, open_run(self.request.run)
        limits = self._catalogue.limits
        attempt, asked_hash = _names(asked)
        return JournaledCalls(
            run=run,
            step=asked.step,
            attempt=asked.attempt,
            tag=f"{attempt}-{asked_hash}",
            journal=CallJournal(run, attempt, asked_hash),
            limits=limits,
            rules=_rules(asked, self._catalogue),
            secrets=self._catalogue.secrets,
            takes_pictures=pictures,
            on_call=current_task().on_tool_call,
        )

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of tools so far, in their order."""
        return self._journaled.calls_in(self.messages)

    @property
    def result_of_first(self) -> Committed | None:
        """What the first call came to, whoever made it; None if it wasn't made."""
        return self._journaled.result_of(1)

    @property
    def compactions(self) -> tuple[Compaction, ...]:
        """What the model was sent less of, in their order."""
        made = (each.made for each in self._journaled.compactions)
        return tuple(each for each in made if each.tokens_saved)

    @property
    def usage(self) -> Usage:
        """What the conversation took so far in all processes, its summaries among it."""
        summaries = (each.usage for each in self._journaled.compactions)
        return sum(summaries, usage_of(self.messages))

    async def run(self) -> ModelResponse:
        """Have the agent answer; see `_run`. A provider that refuses pictures is shown none."""
        try:
            return await self._run()
        except (ModelHTTPError, ContextTooSmallError) as error:
            refuses = isinstance(error, ContextTooSmallError) or error.status_code in _REFUSALS
            # Without pictures of its own the question would be another one.
            if not refuses or not self._shows_pictures or pictures_of(self.request):
                raise
            _logger.warning("%s refused pictures of tools: %s", self.model.model_name, error)
            # It is as after a kill: what the calls came to is in the journal.
            self._spent, self._shows_pictures = current_task().budget.taken, False
            self._journaled = self._journal(pictures=False)
            return await self._run()

    async def _run(self) -> ModelResponse:
        """Ask and call until the agent has answered, and return its last answer.

        An earlier process's conversation is continued: what it was answered is not asked again,
        and what its calls came to is not called again.

        Raises:
            ApprovalNeededError: A person has to be asked first.
            BudgetExceededError: The run can't afford another request.
            EmptyOutputError: It never came to an answer.
            SwarmError: Whatever else stops it; and what pydantic-ai raises.
        """
        asked, history = self.request, self._journaled.messages
        self.messages = list(history)
        self._shows_pictures = any(map(_has_pictures, history))
        if history and not _calls_in(history[-1]):
            return _response(history[-1])
        only = _changes_nothing if asked.looks_around else _any
        tools = AttemptTools(self.use, asked.tools, self._catalogue, self._journaled, only)
        model = CompactingModel(self.model, asked, self._journaled)
        agent = Agent[None, str | None](
            WithOwnIds(model),
            # Who has done all by its tools may say nothing more; whether that is an answer is
            # found out as for any other.
            output_type=str | None,
            deps_type=type(None),
            name=asked.agent,
            instructions=asked.instructions,
            toolsets=[tools],
            retries={"tools": self._journaled.rules.most, "output": 0},
            end_strategy="exhaustive",
        )
        agent.instrument = request_tracing()
        content = None if history else await asyncio.to_thread(content_of, self.model, asked)
        most = self._journaled.rules.most + _MORE_REQUESTS
        try:
            async with agent.iter(
                content,
                message_history=history or None,
                model_settings=self._settings,
                usage_limits=UsageLimits(request_limit=most),
            ) as run:
                return await self._turns(run, tools, model)
        except UsageLimitExceeded as error:
            # Raised here, for leaving the run raises the error that ended it once more.
            raise EmptyOutputError(
                f"{asked.step} came to no answer: {error}",
                "Ask for less, or raise the calls of --tool-limit.",
            ) from error

    async def _turns(
        self, run: AgentRun[None, str | None], tools: AttemptTools, model: CompactingModel
    ) -> ModelResponse:
        budget, before = current_task().budget, len(self.messages)
        async for node in run:
            self.messages = run.all_messages()
            budget.taken = self._spent + usage_of(self.messages[before:]) + model.spent
            if Agent.is_model_request_node(node):
                self._shows_pictures |= _has_pictures(node.request)
            if Agent.is_call_tools_node(node):
                # Written before any of its calls is made.
                self._journaled.note(self.messages, tools.offered)
        return _response(next(m for m in reversed(self.messages) if isinstance(m, ModelResponse)))

    def _settings(self, context: RunContext[None]) -> ModelSettings:
        """Return the settings of the next request: after the last call it can't call."""
        settings = ModelSettings(**self.settings)
        messages = context.messages
        goes_on = repeats(messages, self._journaled.left_out.unseen).advice != "take_away"
        if _made(messages) >= self._journaled.rules.most or not goes_on:
            settings["tool_choice"] = "none"
        return settings

    @property
    def use(self) -> ToolsetUse:
        """Whom its toolsets are made for."""
        asked = self.request
        attempt, asked_hash = _names(asked)
        step = "" if asked.looks_around else asked.step
        texts = {text.name: text.text for text in asked.upstream}
        return ToolsetUse(
            open_run(asked.run),
            step,
            attempt,
            asked_hash,
            texts,
            asked.workplace,
            changes=asked.output == "patch",
        )


def _rules(request: SubagentRequest, catalogue: Catalogue) -> AttemptRules:
    most = catalogue.limits.calls
    if request.max_calls is not None:
        most = min(most, request.max_calls)
    # What changes nothing needs no person who agrees to it.
    can_ask = not request.looks_around
    return AttemptRules(most, asks=catalogue.asks and can_ask, can_ask=can_ask)


def _has_pictures(message: ModelMessage) -> bool:
    return any(pictures_in(getattr(part, "content", None)) for part in message.parts)


def _any(_: ToolDefinition) -> bool:
    return True


def _changes_nothing(tool: ToolDefinition) -> bool:
    return not is_acting(tool)


def _names(request: SubagentRequest) -> tuple[str, str]:
    """Return what names the attempt within its run, and a hash of what it is asked."""
    *_, attempt = request.key.split(".", 2)
    return attempt, request.cache_key().rpartition(".")[2][:8]


def _made(messages: Sequence[ModelMessage]) -> int:
    """How many calls the model has read the results of."""
    return sum(
        isinstance(part, ToolReturnPart)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
    )


def _calls_in(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and bool(message.tool_calls)


def _response(message: ModelMessage) -> ModelResponse:
    if not isinstance(message, ModelResponse):
        raise TypeError(f"{type(message).__name__} is not an answer")
    return message
