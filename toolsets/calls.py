"""The calls of an attempt: judged together, journaled, bounded and emitted as events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from weakref import WeakKeyDictionary

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ToolCallPart,
)
from pydantic_ai.tools import ToolDefinition

from ..errors import ApprovalNeededError, StorageError, SwarmError, UncertainCallError
from ..metrics.clock import run_time
from ..models.answers.call_ids import with_own_history
from ..models.answers.shapes import mended_in
from ..quoting import quoted
from ..store.approvals import Approvals
from ..store.attempt import ToolCall
from ..store.protocol import RunStore
from ..store.question import Answer, Question
from ..text import whole_characters
from .catalogue import is_acting, is_idempotent
from .elicitation import CallReplies, Elicited, ElicitedError, replying
from .journal import (
    CallJournal,
    CallKey,
    Committed,
    Compacted,
    JournalState,
    LeftOut,
    Messages,
    Reserved,
    TakenBack,
    conversation_of,
    last_call_keys,
    tools_astray,
)
from .names import ToolLimits
from .policy import AttemptRules, CallVerdict, WantedCall, question_about, repeats, verdict_on
from .shown import (
    ForModel,
    PictureFiles,
    arguments_of,
    bare,
    cut,
    earlier_calls,
    ended_call,
    restored,
    result_text,
    wanted_call,
)

__all__ = ["JournaledCalls", "calls_of", "turn_at"]


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, int], asyncio.Semaphore]] = (
    WeakKeyDictionary()
)


def turn_at(server: str, at_once: int) -> asyncio.Semaphore:
    """Return what a call to a server has to hold while it is made."""
    turns = _turns.setdefault(asyncio.get_running_loop(), {})
    return turns.setdefault((server, at_once), asyncio.Semaphore(at_once))


_logger = logging.getLogger("prefect_swarm.tools")
_OVER = "No more calls of tools are made in this attempt. Answer with what you have."
_REJECTED = "A person decided against this call."


@dataclass(slots=True)
class JournaledCalls:
    """What becomes of an attempt's calls.

    Attributes:
        tag: Names the attempt in questions, so that an answer counts for no other: with the hash
            of what it was asked.
        on_call: Gets each call when it begins and when it ends.
        takes_pictures: Whether the model is shown the pictures of tools.
        calls: What was called so far, by its number, for people.
        messages: The conversation as an earlier process left it, to its last answer.
        compactions: What its model was sent less of, by whatever process, in their order.
    """

    run: RunStore
    step: str
    attempt: int
    tag: str
    journal: CallJournal
    limits: ToolLimits
    rules: AttemptRules
    secrets: frozenset[str] = frozenset()
    takes_pictures: bool = False
    on_call: Callable[[ToolCall], None] = lambda _: None
    clock: Callable[[], float] = run_time
    calls: dict[int, ToolCall] = field(init=False)
    messages: list[ModelMessage] = field(init=False)
    compactions: list[Compacted] = field(init=False)
    _before: JournalState = field(init=False)
    _written: int = field(init=False)
    _verdicts: dict[CallKey, CallVerdict] = field(
        init=False, default_factory=dict[CallKey, CallVerdict]
    )
    _answers: dict[CallKey, Answer] = field(init=False, default_factory=dict[CallKey, Answer])
    _started: set[CallKey] = field(init=False, default_factory=set[CallKey])
    _wishes: dict[CallKey, WantedCall] = field(
        init=False, default_factory=dict[CallKey, WantedCall]
    )
    _results: dict[int, Committed] = field(init=False, default_factory=dict[int, Committed])
    _making: int = field(init=False, default=0)
    _made: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _elicited: list[Question] = field(init=False, default_factory=list[Question])

    def __post_init__(self) -> None:
        self._before = self.journal.read()
        pictures = PictureFiles(self.run, shown=self.takes_pictures)
        self._before.messages = restored(self._before.messages, pictures.read)
        read = conversation_of(self._before)
        self._written = len(read)
        self.messages = with_own_history(read)
        self.compactions = [*self._before.compactions]
        self.calls = earlier_calls(self._before, self.messages, self.secrets)
        lost = tools_astray(self._before, read)
        self._before.astray = lost | self.journal.lost_before()
        if lost or self._before.unreadable:
            _logger.warning(
                "%s: the journal of attempt %s has lost lines. What acts and may have been made "
                "already is not made again unasked.",
                self.step,
                self.attempt,
            )

    @property
    def called(self) -> dict[str, str]:
        """The names by which the model called tools before, and the toolset of each."""
        return self._before.called

    @property
    def left_out(self) -> LeftOut:
        """What the model isn't sent of its conversation."""
        return self.compactions[-1].left_out if self.compactions else LeftOut()

    def result_of(self, number: int) -> Committed | None:
        """Return what a call came to, by its number; None if it isn't over, or wasn't made."""
        before = (each for key, each in self._before.committed.items() if key.ordinal == number)
        return self._results.get(number) or next(before, None)

    def compact(self, entry: Compacted) -> None:
        """Write down what the model is sent less of, before it is sent it.

        Raises:
            StorageError: It can't be written, so a resumed run would send something else.
        """
        self.journal.write(entry)
        self.compactions.append(entry)

    def note(
        self, messages: Sequence[ModelMessage], toolsets: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Write down what is new of the conversation, before the calls of its last answer.

        Args:
            toolsets: The toolsets of the tools that are offered.

        Raises:
            StorageError: It can't be written, so the calls must not be made.
        """
        if new := list(messages[self._written :]):
            dumped = bare(ModelMessagesTypeAdapter.dump_python(new, mode="json"))
            called = {part.tool_name for part in calls_of(messages)} & toolsets.keys()
            entry = Messages(
                at=self.clock(),
                messages=dumped,
                after=self._written,
                toolsets={name: toolsets[name] for name in sorted(called)},
            )
            self.journal.write(entry)
            self._written = len(messages)

    def calls_in(self, messages: Sequence[ModelMessage]) -> tuple[ToolCall, ...]:
        """Return all calls of a conversation, in their order: those that no tool takes as well."""
        found = {**earlier_calls(self._before, messages, self.secrets), **self.calls}
        return tuple(call for _, call in sorted(found.items()))

    async def call(
        self,
        messages: Sequence[ModelMessage],
        position: int,
        tools: Mapping[str, tuple[str, str, ToolDefinition]],
        make: Callable[[], Awaitable[object]],
        untaken: Collection[int] = (),
    ) -> ForModel:
        """Return what the model reads of a call in the last answer, and the pictures it is shown.

        Args:
            position: Which of the answer's calls it is, from 0.
            tools: The toolset, the server and the definition of each tool that is offered.
            make: Makes the call.
            untaken: Positions of the calls that aren't made, since their arguments fit no tool.

        Raises:
            ApprovalNeededError: A person has to be asked first, and none of the answer's calls was
                begun; or its server asks something, and all that were begun are over.
            StorageError: The call can't be written down, so it isn't made.
            ToolFailed: It failed, or isn't made; the model reads why.
            UncertainCallError: One of the answer's may have been made already.
        """
        part = calls_of(messages)[position]
        key = last_call_keys(messages)[position]
        self._look_at(messages, tools, untaken)
        toolset, server, definition = tools[part.tool_name]
        shown = wanted_call(key, toolset, part, self.secrets)
        match self._verdicts[key]:
            case "stored":
                return self._stored(shown, self._before.committed[key])
            case "over":
                raise self._refusal(shown, _OVER)
            case "rejected":
                why = self._answers[key].why
                raise self._refusal(shown, f"{_REJECTED}{f' {why}' if why else ''}")
            case "repeated":
                raise self._refusal(shown, repeats(messages, self.left_out.unseen).text)
            case _:
                return await self._make(key, shown, server, part, definition, make)

    def _look_at(
        self,
        messages: Sequence[ModelMessage],
        tools: Mapping[str, tuple[str, str, ToolDefinition]],
        untaken: Collection[int],
    ) -> None:
        """Decide about all calls of the last answer, before any of them is begun."""
        keys = zip(last_call_keys(messages), calls_of(messages), strict=True)
        approvals = Approvals(self.run)
        repeated = repeats(messages, self.left_out.unseen).calls
        wanted = [
            replace(
                self._wanted(key, part, tools[part.tool_name], approvals),
                is_repeated=position in repeated,
                mended=mended_in(messages, part.tool_name),
            )
            for position, (key, part) in enumerate(keys)
            if part.tool_name in tools and position not in untaken and key not in self._verdicts
        ]
        answers = {
            call.key: answer for call in wanted if (answer := self._decision(call, approvals))
        }
        verdicts: dict[CallKey, CallVerdict] = {
            call.key: verdict_on(call, self._before, self.rules, answers.get(call.key))
            for call in wanted
        }
        questions = [
            question_about(call, self._before, self.step, self.attempt)
            for call in wanted
            if verdicts[call.key] == "ask"
        ]
        asked = [approvals.ask(q.model_copy(update={"at": self.clock()})) for q in questions]
        if asked:
            raise self._approval_needed(asked)
        for call in wanted:
            if verdicts[call.key] == "uncertain":
                raise _uncertain(self.step, self.run, call, self._before)
        self._verdicts |= verdicts
        self._answers |= answers
        self._wishes |= {call.key: call for call in wanted}

    def _decision(self, call: WantedCall, approvals: Approvals) -> Answer | None:
        subject = call.subject(self.step, self._before)
        taken_back_at = self._before.taken_back.get(call.key, 0.0)
        return approvals.decision(call.question, subject, taken_back_at)

    def _wanted(
        self,
        key: CallKey,
        part: ToolCallPart,
        tool: tuple[str, str, ToolDefinition],
        approvals: Approvals,
    ) -> WantedCall:
        toolset, server, definition = tool
        earlier = self._before.reserved[key]
        question = f"{self.tag}.{key.ordinal}" + (f".again{earlier}" if earlier else "")
        shown = arguments_of(part)
        call = WantedCall(key, definition, question, shown, toolset, server)
        taken_back_at = self._before.taken_back.get(key, 0.0)
        if approvals.was_used(question, call.subject(self.step, self._before), taken_back_at):
            # The journal has lost what came of it.
            call = replace(call, was_approved=True)
        return call

    async def _make(
        self,
        key: CallKey,
        shown: ToolCall,
        server: str,
        part: ToolCallPart,
        tool: ToolDefinition,
        make: Callable[[], Awaitable[object]],
    ) -> ForModel:
        once = is_acting(tool) and not is_idempotent(tool)
        replies = self._replies(key)
        async with turn_at(server, self.limits.at_once):
            if key in self._started:
                raise UncertainCallError(f"{self.step}: {key.tool} was begun already.")
            self._started.add(key)
            started = self.clock()
            reservation = Reserved(
                at=started, key=key, toolset=shown.toolset, arguments=arguments_of(part)
            )
            self.journal.begin(reservation, once=once)
            if (answer := self._answers.get(key)) is not None:
                Approvals(self.run).use(answer, started)
            shown = shown.model_copy(update={"started_at": started})
            self.on_call(shown)
            self._making += 1
            outcome = None
            try:
                with replying(replies):
                    outcome = await self._outcome(shown, make)
            except ElicitedError as error:
                self.journal.take_back(TakenBack(at=self.clock(), key=key), once=once)
                self._ask(replies, error.elicited)
            finally:
                self._making -= 1
                self._made.set()
        if outcome is None:
            raise await self._needed()
        text, failed, pictures = outcome
        text = whole_characters("\n\n".join([text, *replies.notes]))
        ended = Committed(
            at=self.clock(),
            key=key,
            outcome="refused" if failed else "returned",
            result=cut(text, self.limits.characters),
            characters=len(text),
            pictures=pictures,
            seconds=self.clock() - started,
        )
        self._results[key.ordinal] = ended
        try:
            self.journal.write(ended)
        except StorageError as error:
            # A resumed run doesn't know that it was made, and will not make it again.
            _logger.warning("The result of %s is not written down: %s", shown.tool, error)
        self._emit_end(shown, ended, "refused" if failed else "returned")
        if failed:
            raise ToolFailed(quoted(ended.result))
        return self._for_model(ended)

    def _replies(self, key: CallKey) -> CallReplies:
        return CallReplies(
            Approvals(self.run),
            self._wishes[key],
            f"{self.tag}.{key.ordinal}.asks",
            self.step,
            self.attempt,
            can_ask=self.rules.can_ask,
        )

    def _ask(self, replies: CallReplies, elicited: Elicited) -> None:
        """Ask a person what a server asks; its call is taken back."""
        question = replies.question(elicited).model_copy(update={"at": self.clock()})
        self._elicited.append(Approvals(self.run).ask(question))

    async def _needed(self) -> ApprovalNeededError:
        """Return what puts the attempt aside, once the other calls that were begun are over."""
        while self._making:
            self._made.clear()
            await self._made.wait()
        return self._approval_needed(self._elicited)

    def _approval_needed(self, asked: Sequence[Question]) -> ApprovalNeededError:
        return ApprovalNeededError(
            f"{self.step} waits for a person: {'; '.join(q.title for q in asked)}",
            f"Decide with: prefect-swarm approve {self.run.run_id} {self.step}",
            tuple(question.id for question in asked),
        )

    async def _outcome(
        self, shown: ToolCall, make: Callable[[], Awaitable[object]]
    ) -> tuple[str, bool, tuple[str, ...]]:
        """Return what a call came to as text, whether that is a failure, and its pictures."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                value = await make()
                return result_text(value), False, PictureFiles(self.run).keep(value)
        except ElicitedError:
            raise
        except (ToolFailed, ModelRetry) as error:
            return error.message, True, ()
        except TimeoutError:
            return f"{shown.tool} did not answer within {self.limits.seconds:g} s.", True, ()
        except SwarmError as error:
            return str(error), True, ()
        except Exception as error:  # noqa: BLE001 - whatever a tool raises costs the attempt no more
            return f"{shown.tool} failed: {error!r}", True, ()

    def _stored(self, shown: ToolCall, committed: Committed) -> ForModel:
        self._emit_end(shown, committed, "stored")
        if committed.outcome == "refused":
            raise ToolFailed(quoted(committed.result))
        return self._for_model(committed)

    def _for_model(self, committed: Committed) -> ForModel:
        files = PictureFiles(self.run, shown=self.takes_pictures)
        return files.result(quoted(committed.result), committed.pictures)

    def _refusal(self, shown: ToolCall, why: str) -> ToolFailed:
        ended = shown.model_copy(update={"outcome": "refused", "result": why})
        self.calls[shown.ordinal] = ended
        self.on_call(ended)
        return ToolFailed(why)

    def _emit_end(self, shown: ToolCall, committed: Committed, outcome: str) -> None:
        ended = ended_call(shown, committed, outcome, self.secrets)
        self.calls[shown.ordinal] = ended
        self.on_call(ended)


def calls_of(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """Return the calls of a conversation's last answer."""
    last = next(message for message in reversed(messages) if isinstance(message, ModelResponse))
    return [part for part in last.parts if isinstance(part, ToolCallPart)]


def _uncertain(
    step: str, run: RunStore, call: WantedCall, state: JournalState
) -> UncertainCallError:
    what = f"call {call.key.ordinal}, {call.key.tool}({call.arguments[:200]})"
    look = "Look whether it was made. With approve: tools a person is asked instead."
    if state.is_uncertain(call.key):
        return UncertainCallError(
            f"{step} had begun {what}, when its process ended, and nothing says whether it was "
            "made. It is not made again by itself.",
            look,
        )
    return UncertainCallError(
        f"{step} may have made {what} already: a call of {call.key.tool} was begun, and no journal "
        "says how it ended. It is not made by itself.",
        f"{look} If it wasn't made, remove the step's files in {run.place('begun')} and resume.",
    )
