"""The calls of an attempt: looked at together, journaled, bounded and told."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ToolCallPart,
)
from pydantic_ai.tools import ToolDefinition

from ...approvals.store import Approvals
from ...errors import ApprovalNeededError, StorageError, SwarmError, UncertainCallError
from ...measures.clock import run_time
from ...result import ToolCall
from ...runs import RunFolder
from ..journal.entries import CallKey, Committed, JournalState, Messages, Reserved, call_key
from ..journal.file import CallJournal
from ..limits import ToolLimits
from .hearing import tell_call
from .masking import mask
from .repeats import repeats
from .result_text import cut, result_text
from .turns import turn_at
from .verdict import AttemptRules, CallVerdict, WantedCall, question_about, verdict_on

__all__ = ["JournaledCalls"]

_logger = logging.getLogger("prefect_swarm.tools")
_SHOWN = 400
"""Characters of arguments and of a result that people are shown."""
_OVER = "No more calls of tools are made in this attempt. Answer with what you have."
_REJECTED = "A person decided against this call."


@dataclass(slots=True)
class JournaledCalls:
    """What becomes of an attempt's calls.

    Attributes:
        tag: Names the attempt in questions, so that an answer counts for no other: with the hash
            of what it was asked.
        calls: What was called so far, by its number, for people.
    """

    run: RunFolder
    step: str
    attempt: int
    tag: str
    journal: CallJournal
    limits: ToolLimits
    rules: AttemptRules
    secrets: frozenset[str] = frozenset()
    clock: Callable[[], float] = run_time
    calls: dict[int, ToolCall] = field(default_factory=dict[int, ToolCall])
    _before: JournalState = field(init=False)
    _written: int = field(init=False)
    _verdicts: dict[CallKey, CallVerdict] = field(
        init=False, default_factory=dict[CallKey, CallVerdict]
    )

    def __post_init__(self) -> None:
        self._before = self.journal.read()
        self._written = len(self._before.messages)

    @property
    def messages(self) -> list[ModelMessage]:
        """The conversation as an earlier process left it, to its last answer."""
        return ModelMessagesTypeAdapter.validate_python(self._before.messages)

    def note(self, messages: Sequence[ModelMessage]) -> None:
        """Write down what is new of the conversation, before the calls of its last answer.

        Raises:
            StorageError: It can't be written, so the calls must not be made.
        """
        if new := list(messages[self._written :]):
            dumped = ModelMessagesTypeAdapter.dump_python(new, mode="json")
            self.journal.write(Messages(at=self.clock(), messages=dumped))
            self._written = len(messages)

    async def call(
        self,
        messages: Sequence[ModelMessage],
        call_id: str,
        tools: Mapping[str, tuple[str, str, ToolDefinition]],
        make: Callable[[], Awaitable[object]],
    ) -> str:
        """Return what the model reads of a call in the last answer.

        Args:
            tools: The toolset, the server and the definition of each tool that is offered.
            make: Makes the call.

        Raises:
            ApprovalNeededError: A person has to be asked first; no call of the answer was begun.
            StorageError: The call can't be written down, so it isn't made.
            ToolFailed: It failed, or isn't made; the model reads why.
            UncertainCallError: One of the answer's may have been made already.
        """
        part = next(part for part in _calls_of(messages) if part.tool_call_id == call_id)
        key = call_key(messages, part)
        self._look_at(messages, tools)
        toolset, server, _ = tools[part.tool_name]
        shown = self._shown(key, toolset, part)
        match self._verdicts[key]:
            case "stored":
                return self._stored(shown, self._before.committed[key])
            case "over":
                raise self._refusal(shown, _OVER)
            case "rejected":
                answer = Approvals(self.run).decision(self._question(key))
                why = f" {answer.why}" if answer and answer.why else ""
                raise self._refusal(shown, f"{_REJECTED}{why}")
            case _:
                found = repeats(messages)
                if call_id in found.calls:
                    raise self._refusal(shown, found.text)
                return await self._make(key, shown, server, part, make)

    def _look_at(
        self,
        messages: Sequence[ModelMessage],
        tools: Mapping[str, tuple[str, str, ToolDefinition]],
    ) -> None:
        """Decide about all calls of the last answer, before any of them is begun."""
        wanted = [
            WantedCall(key, tools[part.tool_name][2], self._question(key), _json(part))
            for part in _calls_of(messages)
            if part.tool_name in tools and (key := call_key(messages, part)) not in self._verdicts
        ]
        approvals = Approvals(self.run)
        verdicts: dict[CallKey, CallVerdict] = {
            call.key: verdict_on(call, self._before, self.rules, approvals.decision(call.question))
            for call in wanted
        }
        questions = [
            question_about(call, self._before, self.step, self.attempt)
            for call in wanted
            if verdicts[call.key] == "ask"
        ]
        asked = [approvals.ask(q.model_copy(update={"at": self.clock()})) for q in questions]
        if asked:
            raise ApprovalNeededError(
                f"{self.step} waits for a person: {'; '.join(q.title for q in asked)}",
                f"Decide with: prefect-swarm approve {self.run.run_id} {self.step}",
                tuple(question.id for question in asked),
            )
        for call in wanted:
            if verdicts[call.key] == "uncertain":
                raise _uncertain(self.step, call)
        self._verdicts |= verdicts

    async def _make(
        self,
        key: CallKey,
        shown: ToolCall,
        server: str,
        part: ToolCallPart,
        make: Callable[[], Awaitable[object]],
    ) -> str:
        async with turn_at(server, self.limits.at_once):
            started = self.clock()
            self.journal.write(
                Reserved(at=started, key=key, toolset=shown.toolset, arguments=_json(part))
            )
            shown = shown.model_copy(update={"started_at": started})
            tell_call(shown)
            text, failed = await self._outcome(shown, make)
        ended = Committed(
            at=self.clock(),
            key=key,
            outcome="refused" if failed else "returned",
            result=cut(text, self.limits.characters),
            characters=len(text),
            seconds=self.clock() - started,
        )
        try:
            self.journal.write(ended)
        except StorageError as error:
            # Whoever resumes the run doesn't know that it was made, and will not make it again.
            _logger.warning("The result of %s is not written down: %s", shown.tool, error)
        self._tell_end(shown, ended, "refused" if failed else "returned")
        if failed:
            raise ToolFailed(ended.result)
        return ended.result

    async def _outcome(
        self, shown: ToolCall, make: Callable[[], Awaitable[object]]
    ) -> tuple[str, bool]:
        """Return what a call came to as text, and whether that is a failure."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                return result_text(await make()), False
        except (ToolFailed, ModelRetry) as error:
            return error.message, True
        except TimeoutError:
            return f"{shown.tool} did not answer within {self.limits.seconds:g} s.", True
        except SwarmError as error:
            return str(error), True
        except Exception as error:  # noqa: BLE001 - whatever a tool raises costs the attempt no more
            return f"{shown.tool} failed: {error!r}", True

    def _stored(self, shown: ToolCall, committed: Committed) -> str:
        self._tell_end(shown, committed, "stored")
        if committed.outcome == "refused":
            raise ToolFailed(committed.result)
        return committed.result

    def _refusal(self, shown: ToolCall, why: str) -> ToolFailed:
        ended = shown.model_copy(update={"outcome": "refused", "result": why})
        self.calls[shown.ordinal] = ended
        tell_call(ended)
        return ToolFailed(why)

    def _tell_end(self, shown: ToolCall, committed: Committed, outcome: str) -> None:
        ended = shown.model_copy(
            update={
                "outcome": outcome,
                "result": cut(mask(committed.result, self.secrets), _SHOWN),
                "characters": committed.characters,
                "seconds": committed.seconds,
            }
        )
        self.calls[shown.ordinal] = ended
        tell_call(ended)

    def _shown(self, key: CallKey, toolset: str, part: ToolCallPart) -> ToolCall:
        arguments = cut(mask(_json(part), self.secrets), _SHOWN)
        return ToolCall(
            ordinal=key.ordinal, tool=part.tool_name, toolset=toolset, arguments=arguments
        )

    def _question(self, key: CallKey) -> str:
        begun = self._before.reserved[key]
        return f"{self.tag}.{key.ordinal}" + (f".again{begun}" if begun else "")


def _calls_of(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """The calls of the last answer."""
    last = next(message for message in reversed(messages) if isinstance(message, ModelResponse))
    return [part for part in last.parts if isinstance(part, ToolCallPart)]


def _json(part: ToolCallPart) -> str:
    if isinstance(part.args, str):
        return part.args
    arguments: dict[str, Any] = part.args or {}
    return json.dumps(arguments, ensure_ascii=False, default=str)


def _uncertain(step: str, call: WantedCall) -> UncertainCallError:
    return UncertainCallError(
        f"{step} had begun call {call.key.ordinal}, {call.key.tool}({call.arguments[:200]}), when "
        "its process ended, and nothing says whether it was made. It is not made again by itself.",
        "Look whether it was made. With approve: tools a person is asked instead.",
    )
