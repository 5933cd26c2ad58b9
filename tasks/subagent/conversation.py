"""The conversation of an agent with tools as its model is sent it: shorter where it must be.

What is left out is decided in `compaction`, and written into the journal of calls before the model
is sent anything else, so that a resumed attempt sends the same.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAPIError,
    ModelContextWindowExceededError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ...errors import ContextTooSmallError, SwarmError
from ...metrics.clock import run_time
from ...models.answers.usage import ESTIMATED
from ...models.remote import tracing_of
from ...models.request_context import request_context
from ...models.resolve import local_model, profile_of
from ...store.attempt import Compaction, Usage
from ...text import plural, tokens_of
from ...toolsets.calls import JournaledCalls
from ...toolsets.journal import Compacted, LeftOut
from ..context import current_task
from ..task_runs import usage_of
from .answer import refuses
from .asking import own_errors, settings_of
from .compaction import (
    GOAL,
    decide,
    room_in,
    shown,
    summary_prompt,
    summary_tokens,
    tokens_in,
    with_summary,
)
from .request import SubagentRequest

__all__ = ["SUMMARY_INSTRUCTIONS", "CompactingModel"]


_logger = logging.getLogger("prefect_swarm.tools")

SUMMARY_INSTRUCTIONS = (
    "You shorten the beginning of your own work on a task, so that you can go on without it. "
    "Keep every fact, number, name, address and source that the task needs; what was done and what "
    "came of it; what was tried in vain; what was decided; and what remains to be done. Write "
    "nothing that is not there."
)
_WORDS_PER_TOKEN = 0.4
"""Words that a token has room for, as tokens are estimated: few, since texts have figures."""
_REASONING_TOKENS = 4096
"""Tokens of a summary's answer beyond the summary: models that reason write that first."""
_REFUSED_SHARE = 0.9
"""What there is room for, of a request that was refused as too large."""
_LEAST_SCALE, _MOST_SCALE = 0.5, 2.0
"""How far the tokens that a provider counts are believed to be from those that are estimated."""


class CompactingModel(WrapperModel):
    """A model that is sent less of a conversation which comes near its context."""

    def __init__(self, model: Model, asked: SubagentRequest, journaled: JournaledCalls) -> None:
        """Take an attempt's model and its calls, whose journal says what the model was sent."""
        super().__init__(model)
        self._asked, self._journaled = asked, journaled
        self._context = profile_of(model).context_tokens
        self._takes_summaries = True
        self.spent = Usage()
        """What summaries took in this process."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer a request; one that is refused as too large is made shorter once and sent again.

        Raises:
            BudgetExceededError: The run can't afford the request.
            ContextTooSmallError: It is too large however much is left out.
            StorageError: What is left out can't be written down, so it isn't sent.
        """
        around = _tokens_around(messages, model_request_parameters)
        room = self._room(messages, around)
        is_new = room is not None and await self._compact(messages, room - around)
        sent = self._shown(messages)
        await self._extend(messages, around + tokens_in(sent) if is_new else None)
        try:
            return await self.wrapped.request(sent, model_settings, model_request_parameters)
        except Exception as error:
            if not _is_too_large(error):
                raise
            size = around + tokens_in(sent)
            room, counted = int(size * _REFUSED_SHARE), int(size * self._scale(messages, around))
            if not await self._compact(messages, room - around, refused=counted):
                raise self._too_small(error) from error
        sent = self._shown(messages)
        try:
            return await self.wrapped.request(sent, model_settings, model_request_parameters)
        except Exception as error:
            if not _is_too_large(error):
                raise
            raise self._too_small(error) from error

    def _shown(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        left_out = self._journaled.left_out
        return shown(messages, left_out, self._asked.name) if self._compactions else [*messages]

    @property
    def _compactions(self) -> list[Compacted]:
        return self._journaled.compactions

    def _room(self, messages: Sequence[ModelMessage], around: int) -> int | None:
        """Return the tokens, as they are estimated, that a request may take; None if not known."""
        rooms = [int(each.refused * _REFUSED_SHARE) for each in self._compactions if each.refused]
        if self._context is not None:
            rooms.append(room_in(self._context, self._asked.max_output_tokens))
        return int(min(rooms) / self._scale(messages, around)) if rooms else None

    def _scale(self, messages: Sequence[ModelMessage], around: int) -> float:
        """Return how many tokens the provider counted for one that was estimated."""
        for place in range(len(messages) - 1, -1, -1):
            answer = messages[place]
            if not isinstance(answer, ModelResponse) or ESTIMATED in answer.usage.details:
                continue
            if (counted := answer.usage.input_tokens) > 0:
                standing = [each for each in self._compactions if each.after <= place]
                left_out = standing[-1].left_out if standing else LeftOut()
                sent = shown(messages[:place], left_out, self._asked.name)
                scale = counted / max(1, around + tokens_in(sent))
                return min(_MOST_SCALE, max(_LEAST_SCALE, scale))
        return 1.0

    async def _extend(self, messages: Sequence[ModelMessage], size: int | None) -> None:
        """Have the run afford the next request; the first is what the attempt was launched with."""
        budget = current_task().budget
        if budget.taken.requests:
            await budget.extend(budget.taken, _read(messages) if size is None else size)

    async def _compact(
        self, messages: Sequence[ModelMessage], room: int, refused: int | None = None
    ) -> bool:
        """Leave out of a conversation what the rule says; say whether anything else is left out."""
        before, name = self._journaled.left_out, self._asked.name
        plan = decide(messages, before, room, name)
        left_out, usage = plan.left_out, Usage()
        if plan.summarise and self._takes_summaries:
            words = max(20, int(summary_tokens(room) * _WORDS_PER_TOKEN))
            prompt = summary_prompt(messages, plan, room, words)
            summary, usage = await self._summary(prompt, room)
            if summary:
                left_out = with_summary(messages, plan, summary, room)
            self._takes_summaries = bool(summary)
        is_new = left_out != before
        if is_new or usage.requests:
            made = _compaction(messages, before, left_out, name)
            self._journaled.compact(
                Compacted(
                    at=run_time(),
                    after=len(messages),
                    left_out=left_out,
                    made=made,
                    refused=refused,
                    usage=usage,
                )
            )
            _logger.info("%s: %s", self._asked.step, _words(made))
        return is_new

    async def _summary(self, prompt: str, room: int) -> tuple[str, Usage]:
        """Return a summary and what it took; "" where the model has none to give."""
        budget, most = current_task().budget, summary_tokens(room) + _REASONING_TOKENS
        changes: dict[str, Any] = {
            "max_output_tokens": max(summary_tokens(room), min(most, int(room * (1 - GOAL)))),
            "thinking": None,
            "output": "text",
            "output_schema": "",
            "grammar": "",
        }
        asked = self._asked.model_copy(update=changes)
        settings = settings_of(asked, is_local=local_model(self.wrapped) is not None)
        request = ModelRequest([UserPromptPart(prompt)], instructions=SUMMARY_INSTRUCTIONS)
        try:
            await budget.extend(budget.taken, tokens_of(SUMMARY_INSTRUCTIONS + prompt))
            # Whoever reads along would take it for what the step writes.
            with request_context(streaming=None):
                response = await model_request(
                    self.wrapped,
                    [request],
                    model_settings=settings,
                    instrument=tracing_of(self.wrapped),
                )
        except (
            FallbackExceptionGroup,
            ModelAPIError,
            SwarmError,
            UnexpectedModelBehavior,
        ) as error:
            _logger.warning("%s: its conversation isn't summarised: %s", self._asked.step, error)
            return "", Usage()
        usage = usage_of([response])
        self.spent += usage
        budget.taken += usage
        summary = (response.text or "").strip()
        # What a refusal has to say is not a summary, and one that is cut off lacks its end.
        is_whole = response.finish_reason != "length" and not refuses(summary)
        return (summary if is_whole else ""), usage

    def _too_small(self, error: Exception) -> Exception:
        """Return the error of a request that is too large, with what was left out of it."""
        try:
            with own_errors(self.wrapped, self._asked):
                raise error
        except ContextTooSmallError as small:
            left_out = self._journaled.left_out
            said = "There is no result of a tool that could be left out."
            if left_out != LeftOut():
                lines, cut = len(left_out.unseen), len(left_out.results) - len(left_out.unseen)
                said = f"That is with {plural(lines, 'tool result')} left out and {cut} cut."
            return ContextTooSmallError(f"{small.problem} {said}", small.fix)
        except Exception as other:  # noqa: BLE001 - another model's error stands first
            return other


def _is_too_large(error: Exception) -> bool:
    if isinstance(error, FallbackExceptionGroup):
        return any(map(_is_too_large, error.exceptions))
    return isinstance(error, ModelContextWindowExceededError | ContextTooSmallError)


def _tokens_around(messages: Sequence[ModelMessage], asked: ModelRequestParameters) -> int:
    """Return the tokens of what is sent with each conversation: instructions and tools."""
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    instructions = (requests[-1].instructions if requests else None) or ""
    tools = [
        (tool.name, tool.description, tool.parameters_json_schema) for tool in asked.function_tools
    ]
    return tokens_of(instructions + json.dumps(tools, default=str))


def _read(messages: Sequence[ModelMessage]) -> int:
    """Return the tokens that the next request reads, estimated from the last one's."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(answer := messages[place], ModelResponse):
            usage = answer.usage
            return usage.input_tokens + usage.output_tokens + tokens_in(messages[place + 1 :])
    return tokens_in(messages)


def _compaction(
    messages: Sequence[ModelMessage], before: LeftOut, after: LeftOut, name: str
) -> Compaction:
    earlier = before.results
    new = {each: left for each, left in after.results.items() if earlier.get(each) != left}
    summarised = after.exchanges - before.exchanges
    lines = sum(not left for left in new.values())
    return Compaction(
        request=1 + sum(isinstance(message, ModelResponse) for message in messages),
        results=lines,
        cut=len(new) - lines,
        exchanges=summarised,
        tokens_before=tokens_in(shown(messages, before, name)),
        tokens_after=tokens_in(shown(messages, after, name)),
    )


def _words(made: Compaction) -> str:
    return (
        f"{plural(made.results, 'result')} of tools left out of the conversation, {made.cut} cut, "
        f"{plural(made.exchanges, 'answer')} summarised: {made.tokens_before:,} tokens became "
        f"{made.tokens_after:,}"
    )
