"""The answer of a run: the final step's output, or what the orchestrator writes from several."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..errors import BudgetExceededError, Category
from ..plan.output import StepOutput
from ..store.attempt import Usage, excerpt
from ..store.events import AnsweringEvent, TextEvent
from ..store.step import StepState
from ..tasks.replan import join_outputs, synthesis, synthesise
from ..tasks.subagent.answer import cut_mark, extract
from ..tasks.subagent.request import SubagentRequest, SubagentResult
from .answer_type import answer_problem
from .context import RunContext
from .event_log import text_events
from .prefect_io.task_runs import result_in, states_of
from .subagents import ask_orchestrator

__all__ = [
    "WRITTEN_AGAIN",
    "Answering",
    "RunAnswer",
]


_TRIES = 3
WRITTEN_AGAIN = {
    Category.FORMAT,
    Category.TRUNCATED,
    Category.EARLY_ABORT,
    Category.REFUSED,
}
"""What is wrong with an answer that another one may do better; else the model can't be asked."""


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """A run's answer, what it took, and what went wrong with it; "" if nothing did."""

    text: str
    usage: Usage = field(default_factory=Usage)
    trouble: str = ""


@dataclass(slots=True)
class Answering:
    """Makes the answer of a run.

    Attributes:
        done_when: What the plan calls done.
        check: Says what is wrong with an answer in JSON; "" if nothing is.
        usage: What was taken so far.
    """

    context: RunContext
    done_when: Sequence[str] = ()
    check: Callable[[str], str] = lambda _: ""
    usage: Usage = field(init=False, default_factory=Usage)

    async def answer(self, last: Sequence[StepState]) -> RunAnswer:
        """Answer from the outputs that no other step reads."""
        outputs = tuple(record.output for record in last if record.output is not None)
        if self.context.options.answer_schema is not None:
            return await self._typed(outputs, last)
        # What gates have passed, no model writes again.
        if len(outputs) <= 1 or any(output.kind != "text" for output in outputs):
            return RunAnswer(join_outputs(outputs))
        return await self._written(outputs, last)

    async def _written(
        self, outputs: tuple[StepOutput, ...], last: Sequence[StepState]
    ) -> RunAnswer:
        """Have it written, on and on where it is cut off."""
        result = await self._ask(self._request(outputs, 1), last)
        for number in range(2, _TRIES + 1):
            if isinstance(result, str) or result.category is not Category.TRUNCATED:
                break
            result = await self._ask(self._request(outputs, number, begun=result.text), last)
        if isinstance(result, str):
            return RunAnswer(join_outputs(outputs), self.usage, result)
        if result.category is None:
            return RunAnswer(result.text, self.usage)
        if result.category is Category.TRUNCATED:
            text = result.text.rstrip() + cut_mark(self.usage.output_tokens)
            return RunAnswer(text, self.usage, f"The answer is cut off: {result.error}")
        trouble = f"The answer could not be written: {result.error}"
        return RunAnswer(join_outputs(outputs), self.usage, trouble)

    async def _typed(self, outputs: tuple[StepOutput, ...], last: Sequence[StepState]) -> RunAnswer:
        """Have it written as JSON that fits the schema; each repair request says what was wrong."""
        if not outputs:
            return RunAnswer("")
        if len(outputs) == 1 and not await self._problem(text := _as_json(outputs[0].text)):
            return RunAnswer(text)
        problem = ""
        for number in range(1, _TRIES + 1):
            result = await self._ask(self._request(outputs, number, problem=problem), last)
            if isinstance(result, str):
                return RunAnswer(join_outputs(outputs), self.usage, result)
            if result.category is not None and result.category not in WRITTEN_AGAIN:
                trouble = f"The answer could not be written: {result.error}"
                return RunAnswer(join_outputs(outputs), self.usage, trouble)
            text = _as_json(result.text)
            problem = result.error if result.category is not None else await self._problem(text)
            if not problem:
                return RunAnswer(text, self.usage)
        trouble = f"The answer doesn't fit its type: {problem}"
        return RunAnswer(join_outputs(outputs), self.usage, trouble)

    async def _problem(self, text: str) -> str:
        schema = self.context.options.answer_schema or {}
        return await asyncio.to_thread(answer_problem, text, schema, self.check)

    def _request(
        self,
        outputs: tuple[StepOutput, ...],
        number: int,
        *,
        begun: str = "",
        problem: str = "",
    ) -> SubagentRequest:
        context, schema = self.context, self.context.options.answer_schema
        model = context.options.model_of("orchestrator")
        request = synthesis(
            context.plan.objective,
            outputs,
            done_when=self.done_when,
            key=f"{context.key}.answer.{number}",
            run=context.flow_run_id,
            model=model,
            limits=context.limits,
        )
        feedback = excerpt(problem, context.models.profile(model).feedback_chars)
        changes = {"attempt": number, "begun": begun, "feedback": feedback}
        if schema is not None:
            changes |= {"output": "json", "output_schema": json.dumps(schema, sort_keys=True)}
        return request.model_copy(update=changes)

    async def _ask(
        self, request: SubagentRequest, last: Sequence[StepState]
    ) -> SubagentResult | str:
        """Return what came of a request, or why it could not be sent."""
        ledger = self.context.ledger
        try:
            request = await ledger.reserve(request)
        except BudgetExceededError as error:
            return f"The answer could not be written: {error}"
        self.context.emit(AnsweringEvent(attempt=request.attempt))
        again = f", attempt {request.attempt}" if request.attempt > 1 else ""
        event = TextEvent(attempt=request.attempt)
        of_providers = self.context.options.stream_text
        _, content = await ask_orchestrator(
            ledger,
            synthesise,
            request,
            name=f"Answer, orchestrator{again}",
            wait_for=states_of(run for record in last for run in record.task_runs),
            control=self.context.control,
            streaming=text_events(self.context.emit, event, of_providers=of_providers),
        )
        if (result := result_in(content)) is None:
            return f"The answer could not be written: {content!r}"
        self.usage += result.usage
        return result


def _as_json(text: str) -> str:
    return extract(text.strip(), "json").artifact
