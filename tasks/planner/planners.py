"""The planners of models: with calls of tools, JSON, a grammar, or lines of a trained model file.

Lines are for a model file that was trained to plan: several are drawn, scored and repaired.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelRequestRejectedError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ...errors import NoPlanError, PlanError
from ...models.answers.provider_errors import words_of
from ...models.llama.model import LlamaCppModel, LlamaCppSettings
from ...models.remote import tracing_of
from ...models.streaming import without_streaming
from ...plan.task_ir import PlanRules
from ..subagent.answer import watch
from ..task_runs import usage_of
from .conversation import EXCERPT, PlanContext, PlanDraft, checked_objective, converse, instructions
from .grammar import plan_grammar, plan_shape
from .line_format import GRAMMAR_STEPS, grammar, read_lines, repair_plan, repetition_reason
from .plan_score import AGREED, Choice, PlanCandidate, describe_selection, score, select_plan
from .planned import plan_schema
from .program import may_depend
from .written import PLAN_TOOL

__all__ = [
    "SAMPLES",
    "THRESHOLD",
    "TRAINED",
    "AdapterDraft",
    "AdapterPlanner",
    "GrammarPlanner",
    "StructuredPlanner",
    "trained_messages",
]

_PURPOSE = "Write the whole plan: who is created, and what each is assigned."
_OTHERWISE_REJECTED = (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
)
"""What is rejected for another reason than the form that the plan is asked for in."""


def _may_depend(objective: str, context: PlanContext) -> bool:
    return may_depend(objective, context.inputs, context.rules.toolsets or ())


def _by_tool(rules: PlanRules, *, program: bool, turns: bool) -> ModelRequestParameters:
    schema = plan_schema(
        inputs=bool(rules.inputs),
        toolsets=rules.toolsets or (),
        program=program,
        turns=turns,
        procedures=rules.procedures,
    )
    tool = ToolDefinition(
        name=PLAN_TOOL, description=_PURPOSE, parameters_json_schema=schema, kind="output"
    )
    return ModelRequestParameters(
        output_mode="auto",
        output_tools=[tool],
        output_object=OutputObjectDefinition(
            json_schema=schema, name=PLAN_TOOL, description=_PURPOSE
        ),
        allow_text_output=False,
    )


_Server = tuple[str | None, str]
_NAMES_TOOLS = re.compile(r"tool|function", re.IGNORECASE)
# Written and read by the planner alone: servers, by address and model, that refused its tool and
# took the same request as text. Each of them is asked so once.
_without_tools: set[_Server] = set()


class StructuredPlanner:
    """Asks for the plan as a tool call, and as JSON where the model or its server has no tools."""

    reads_facts: ClassVar[bool] = True

    def __init__(self, model: Model) -> None:
        self._model = model

    async def plan(self, objective: str, context: PlanContext) -> PlanDraft:
        """Write a plan in one request and, if it breaks a rule, one repair.

        Raises:
            InputError: The objective is empty.
            ModelAPIError: The model can't be asked.
            NoPlanError: The model refuses, or the second plan can't be read either.
        """
        program = _may_depend(objective, context)
        by_tool = _by_tool(context.rules, program=program, turns=context.turns)
        how = instructions(context.rules, program=program, turns=context.turns)
        as_text = replace(by_tool, output_mode="prompted", output_tools=[], allow_text_output=True)
        server = (self._model.base_url, self._model.model_name)
        without_tools = _without_tools if self._model.base_url else set[_Server]()
        streaming: Callable[[], AbstractContextManager[None]] = nullcontext

        async def ask(messages: Sequence[ModelMessage]) -> ModelResponse:
            nonlocal streaming
            parameters = as_text if server in without_tools else by_tool
            try:
                return await self._ask(messages, context, parameters, how)
            except ModelRequestRejectedError as error:
                # Servers without tools reject what has them; they do so before anything is written.
                if parameters is as_text or isinstance(error, _OTHERWISE_REJECTED):
                    raise
                if not _NAMES_TOOLS.search(words_of(error)):
                    # Nobody knows what it is about: one more request, the plainest that there is.
                    streaming = without_streaming
                with streaming():
                    answer = await self._ask(messages, context, as_text, how)
                without_tools.add(server)
                return answer

        return await converse(checked_objective(objective), context, ask)

    async def _ask(
        self,
        messages: Sequence[ModelMessage],
        context: PlanContext,
        parameters: ModelRequestParameters,
        how: str,
    ) -> ModelResponse:
        settings = ModelSettings()
        if context.seed is not None:
            settings["seed"] = context.seed
        if context.max_tokens is not None:
            settings["max_tokens"] = context.max_tokens
        sent = [
            replace(message, instructions=how) if isinstance(message, ModelRequest) else message
            for message in messages
        ]
        return await model_request(
            self._model,
            sent,
            model_settings=settings,
            model_request_parameters=parameters,
            instrument=tracing_of(self._model),
        )


_CONTEXT = 4096
"""Tokens of a request where a model file doesn't say."""


class GrammarPlanner:
    """Asks a model file for the plan as JSON, of which it can write nothing but a plan's form."""

    reads_facts: ClassVar[bool] = True

    def __init__(self, model: Model, local: LlamaCppModel) -> None:
        """Take a model, and the model file that it is or wraps."""
        self._model, self._local = model, local

    async def plan(self, objective: str, context: PlanContext) -> PlanDraft:
        """Write a plan in one request and, if it breaks a rule, one repair.

        Raises:
            InputError: The objective is empty.
            ModelError: The model can't be loaded, or the objective doesn't fit its context.
            NoPlanError: The second plan can't be read either.
        """
        program = _may_depend(objective, context)
        settings = LlamaCppSettings(
            llamacpp_grammar=plan_grammar(context.rules, program=program),
            llamacpp_watch=watch("text"),
            llamacpp_repeat_penalty=1.0,
        )
        room = (self._local.limits.context_tokens or _CONTEXT) // 2
        settings["max_tokens"] = context.max_tokens or room
        how = instructions(context.rules, program=program)
        system = SystemPromptPart(f"{how}\n\n{plan_shape(context.rules, program=program)}")

        async def ask(messages: Sequence[ModelMessage]) -> ModelResponse:
            sent = [ModelRequest([system]), *messages]
            # The repair, which is longer by two messages, is not to go round in the same circle.
            settings["seed"] = (context.seed or 0) + len(messages) // 2
            return await model_request(
                self._model, sent, model_settings=settings, instrument=tracing_of(self._model)
            )

        return await converse(checked_objective(objective), context, ask)


TRAINED = "Split the objective into steps."
"""The whole prompt for a model that was trained to plan: its training has the rest."""


def trained_messages(objective: str) -> list[ModelMessage]:
    """Return the conversation whose next turn is a trained model's plan; no examples.

    Training writes its prompts with this, so that a model is asked as it was taught.
    """
    lines = (" ".join(line.split()) for line in objective.strip().splitlines())
    return [ModelRequest([SystemPromptPart(TRAINED), UserPromptPart("\n".join(lines))])]


SAMPLES = 6
"""The most plans that are written for an objective."""
THRESHOLD = 0.85
"""The least score of a plan that is taken without writing others.

Both by measurement: `benches/planning/choice.py`.
"""

_logger = logging.getLogger(__name__)
_TOKENS = 640
# Of the first sample, the second and so on; of every further one the last.
_TEMPERATURES = (0.0, 0.4, 0.6, 0.8)


@dataclass(frozen=True, kw_only=True)
class AdapterDraft(PlanDraft):
    """The plan that is taken, why, and all that were written."""

    choice: Choice
    written: tuple[PlanCandidate, ...]


class AdapterPlanner:
    """Writes plans with an adapter, as many as it takes until one scores well."""

    reads_facts: ClassVar[bool] = False

    def __init__(
        self,
        model: Model,
        adapter: Path,
        *,
        samples: int = SAMPLES,
        threshold: float = THRESHOLD,
    ) -> None:
        """Take a model.

        Args:
            model: A model file, or what wraps one.
            adapter: The LoRA adapter to plan with.
            samples: The most plans to write.
            threshold: The least score, 0 to 1, of a plan that is taken immediately.
        """
        self._model, self._adapter = model, adapter
        self._samples, self._threshold = samples, threshold

    async def plan(self, objective: str, context: PlanContext) -> AdapterDraft:
        """Write plans and take the best one.

        Raises:
            InputError: The objective is empty.
            ModelError: The adapter doesn't fit the model.
            NoPlanError: No plan that was written can be read; it has the last one's text.
        """
        objective = checked_objective(objective)
        answers: list[ModelMessage] = []

        async def write(number: int) -> PlanCandidate:
            text = await self._lines(objective, context, number, answers)
            return _candidate(text, objective, context)

        candidates = [await write(0)]
        first = candidates[0].score
        if first is None or first.value < self._threshold:
            candidates += await asyncio.gather(*map(write, range(1, self._samples)))
        return self._draft(candidates, answers)

    async def _lines(
        self,
        objective: str,
        context: PlanContext,
        number: int,
        answers: list[ModelMessage],
    ) -> str:
        settings = LlamaCppSettings(
            max_tokens=context.max_tokens or _TOKENS,
            temperature=_TEMPERATURES[min(number, len(_TEMPERATURES) - 1)],
            seed=(context.seed or 0) + number,
            llamacpp_watch=repetition_reason,
            llamacpp_grammar=grammar(min(context.rules.max_steps, GRAMMAR_STEPS)),
            llamacpp_adapter=str(self._adapter),
        )
        messages = trained_messages(objective)
        answer = await model_request(
            self._model, messages, model_settings=settings, instrument=tracing_of(self._model)
        )
        answers.append(answer)
        text = answer.text or ""
        if answer.finish_reason in ("length", "error"):
            # The line that was cut off says half a thing; the lines before it are whole.
            text = text.rpartition("\n")[0] or text
        return text

    def _draft(
        self, candidates: Sequence[PlanCandidate], answers: Sequence[ModelMessage]
    ) -> AdapterDraft:
        choice = select_plan(candidates, AGREED)
        if choice is None:
            last = candidates[-1]
            raise NoPlanError(
                f"No plan could be read: {last.error}", "Ask another model.", last.text
            )
        selected = describe_selection(candidates, choice.alike)
        _logger.info(
            "Chose a plan of %d steps that scores %.2f (%s)%s",
            len(choice.plan.steps),
            choice.score.value,
            selected,
            "".join(f"; {clause}" for clause in (*choice.score.reasons, *choice.repairs)),
        )
        return AdapterDraft(
            plan=choice.plan,
            text=next(each.text for each in candidates if each.plan is choice.plan),
            usage=usage_of(answers),
            origin="; ".join((selected, *choice.repairs)),
            score=choice.score.value,
            candidates=len(candidates),
            adapter=self._adapter,
            choice=choice,
            written=tuple(candidates),
        )


def _candidate(text: str, objective: str, context: PlanContext) -> PlanCandidate:
    try:
        plan, notes = repair_plan(read_lines(text, objective, context.rules))
    except PlanError as error:
        return PlanCandidate((error.text or text)[:EXCERPT], error=str(error))
    return PlanCandidate(text[:EXCERPT], plan, score(plan, objective), notes)
