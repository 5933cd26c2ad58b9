"""The request of an attempt; inputs that don't fit are summarised."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import cast

from ..inputs.pictures import has_pictures
from ..plan.call import PlannedCall, filled_call
from ..plan.compile import CompiledStep
from ..plan.output import StepOutput
from ..plan.schedule_events import Launch
from ..plan.task_ir import Tier
from ..quoting import Quote
from ..store.attempt import Action, Attempt, Decision, excerpt
from ..store.step import StepState
from ..tasks.failure_router import Failure, feedback
from ..tasks.subagent.asking import form_grammar, output_requirements
from ..tasks.subagent.request import (
    BYTES_PER_TOKEN,
    NOT_ACCEPTED,
    SubagentRequest,
    omissions_of,
    tokens_of,
)
from ..tasks.subagent.task import subagent
from .bounds import call_limits
from .context import RunContext
from .prefect_io.task_runs import result_in, run_task, states_of

__all__ = ["Summaries", "attempt_request", "failures_of", "parts_of"]


_SEEDS_APART = 1000
_ADVICE = "A person says what to do:"
_BEFORE = {_ADVICE: "A person says: "}
"""What stands before a remark where all of them are one text, by which a request is found."""


def attempt_request(
    context: RunContext,
    record: StepState,
    launch: Launch,
    decision: Decision | None,
    *,
    sample: int = 0,
) -> SubagentRequest:
    """Return what the model of an attempt is asked, before the budget has been.

    Args:
        decision: What the attempt before led to; None at the first.
        sample: Its number among the samples.
    """
    step, options, policy = record.step, context.options, context.options.policy
    tier = cast("Tier", launch.tier)
    schema = step.output.json_schema
    again = context.restart_counts.get(step.id, 0)
    key = f"{context.key}.{step.id}{f'-{again}' if again else ''}.{launch.attempt}"
    action = decision.action if decision else None
    # A step that climbs leaves the model that its plan names.
    own = options.named(step.model) if step.model and tier == step.tier else ""
    model = own or options.model_of(tier)
    profile = context.models.profile(model)
    limits = call_limits(options, tier, profile, step.settings, step.timeout_s)
    temperature, room = limits.temperature, limits.max_output_tokens
    if sample or action in ("SAMPLE", "THINK_HARDER"):
        temperature = policy.sample_temperature or profile.sample_temperature or temperature
    # A form or a schema is written under a grammar, which has to begin at the beginning.
    # So is an answer that came of calls: what they came to would be lacking.
    is_formed = bool(schema or step.output.form or step.tools)
    continues = action == "CONTINUE" and not is_formed
    if room and (action == "THINK_HARDER" or (action == "CONTINUE" and is_formed)):
        room = int(room * policy.harder_tokens)
    changes = {
        "max_output_tokens": room,
        "temperature": temperature,
        "seed": limits.seed + launch.attempt - 1 + sample * _SEEDS_APART,
    }
    remarks = _remarks(record, decision, profile.feedback_chars)
    return SubagentRequest(
        key=f"{key}.{sample}" if sample else key,
        run=context.flow_run_id,
        step=step.id,
        agent=step.agent,
        attempt=launch.attempt,
        tier=tier,
        model=model,
        instructions=step.instructions,
        prompt=step.prompt,
        lesson=step.lesson,
        upstream=context.upstream_of(step),
        feedback="\n".join(f"{_BEFORE.get(each.label, '')}{each.text}" for each in remarks),
        remarks=remarks if len(remarks) > 1 else (),
        begun=record.partial_text if continues else "",
        previous=record.best if action in ("ESCALATE", "DELEGATE") else "",
        sample=sample,
        priority=step.priority,
        output=step.output.kind,
        output_requirements=output_requirements(step.output),
        tools=step.tools,
        call=_call(context, step),
        workplace=context.workplace_of(step),
        grammar=form_grammar(step.output),
        output_schema=json.dumps(schema, sort_keys=True) if schema else "",
        **dict(limits.model_copy(update=changes)),
    )


def _call(context: RunContext, step: CompiledStep) -> PlannedCall | None:
    """Return the call that a step is, with the values that its arguments name.

    Raises:
        CallError: There is no such value.
    """
    return filled_call(step.call, context.outputs_read(step), step.about) if step.call else None


def _remarks(record: StepState, decision: Decision | None, limit: int) -> tuple[Quote, ...]:
    """Feedback for the next attempt: what was wrong, a person's advice, what helped elsewhere."""
    if decision is None or decision.action in ("SAMPLE", "CONTINUE"):
        return ()
    failures = [failure for failure in failures_of(record) if failure.revision == record.revision]
    remarks = [Quote(text=feedback(failures, limit), label=NOT_ACCEPTED)]
    if decision.action == "ASK" and record.advice:
        remarks.append(Quote(text=excerpt(record.advice, limit), label=_ADVICE))
    if decision.example:
        remarks.append(Quote(text=decision.example.text))
    return tuple(remarks)


def failures_of(record: StepState, last: Attempt | None = None) -> list[Failure]:
    """Return how a step's attempts failed, `last` after those that its record has."""
    attempts = [*record.attempts, *([last] if last else [])]
    led_to: list[Action | None] = [None]
    led_to.extend(attempt.decision.action if attempt.decision else None for attempt in attempts)
    return [
        Failure(attempt.category, attempt.tier, attempt.error or "", action, attempt.revision)
        for attempt, action in zip(attempts, led_to, strict=False)
        if attempt.category is not None
    ]


_ROUNDS = 3
_WORDS_PER_TOKEN = 0.4
"""Words that a token has room for, as tokens are estimated: few, since texts have figures."""
_PART_TOKENS = 8000
"""Tokens of a part where the worker's model has no bound of its own."""
_INSTRUCTIONS = (
    "You shorten a part of a longer text for somebody who works on from it. Keep every fact, "
    "number, name and conclusion; leave out what is said twice and how it is said."
)


def parts_of(text: str, tokens: int) -> list[str]:
    """Divide a text at its paragraphs, lines or words into parts of about so many tokens.

    Nothing is left out: the parts joined are the text.
    """
    parts: list[str] = []
    while tokens_of(text) > tokens:
        size = max(1, int(tokens * BYTES_PER_TOKEN * len(text) / len(text.encode())))
        head = text[:size]
        ends = (head.rfind("\n\n") + 2, head.rfind("\n") + 1, head.rfind(" ") + 1)
        end = next((end for end in ends if end > size // 2), size)
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


@dataclass(slots=True)
class Summaries:
    """Makes the summaries of a run; each text is summarised once to a length."""

    context: RunContext
    _made: dict[tuple[str, int], asyncio.Task[str]] = field(
        init=False, default_factory=dict[tuple[str, int], "asyncio.Task[str]"]
    )

    async def fitting(self, request: SubagentRequest, record: StepState) -> SubagentRequest:
        """Return the request, with summaries for the inputs that it has no room for.

        As it is where the policy cuts them.

        Raises:
            BudgetExceededError: The run can't afford a summary.
        """
        if self.context.options.policy.long_inputs == "cut":
            return request
        # Without their marks: a summary's room is part of its key, and runs began before there
        # were any.
        cut = omissions_of(request, marked=False)
        # A picture has no summary: what there is no room for is left out.
        pictured = {text.name for text in request.upstream if has_pictures(text.text)}
        cut = tuple(part for part in cut if part.name not in pictured)
        left_out = {part.name: part.of - part.tokens for part in cut}
        if not left_out:
            return request
        texts = await asyncio.gather(
            *(
                self._summary(text, left_out[text.name], request, record)
                for text in request.upstream
                if text.name in left_out
            )
        )
        whole = {text.name: text.text for text in request.upstream}
        read = {**whole, **dict(zip(left_out, texts, strict=True))}
        upstream = tuple(
            text.model_copy(update={"text": read[text.name]}) for text in request.upstream
        )
        summarised = tuple(
            part.model_copy(update={"summarised": True})
            for part in cut
            if read[part.name] != whole[part.name]
        )
        return request.model_copy(update={"upstream": upstream, "summarised": summarised})

    async def _summary(
        self, text: StepOutput, room: int, request: SubagentRequest, record: StepState
    ) -> str:
        key = (text.name, room)
        if key not in self._made:
            self._made[key] = asyncio.create_task(self._shorten(text, room, request, record))
        return await asyncio.shield(self._made[key])

    async def _shorten(
        self, text: StepOutput, room: int, request: SubagentRequest, record: StepState
    ) -> str:
        whole = text.text
        for turn in range(1, _ROUNDS + 1):
            name = self.context.options.model_of("worker")
            limits = call_limits(self.context.options, "worker", self.context.models.profile(name))
            parts = parts_of(whole, limits.max_input_tokens or _PART_TOKENS)
            words = max(20, int(room * _WORDS_PER_TOKEN) // len(parts))
            asked = [
                SubagentRequest(
                    key=f"{self.context.key}.{text.name}.summary.{room}.{turn}.{number}",
                    run=request.run,
                    # A file of the run is named after it.
                    step=f"{text.name.replace('/', '_')}-summary-{turn}-{number}",
                    agent="Summariser",
                    attempt=1,
                    tier="worker",
                    model=name,
                    instructions=_INSTRUCTIONS,
                    prompt=f"{part}\n\n{(task := f'Write this part in at most {words} words.')}",
                    asked=(Quote(text=part), task),
                    **dict(limits),
                )
                for number, part in enumerate(parts, 1)
            ]
            texts = await asyncio.gather(
                *(self._ask(each, part, record) for each, part in zip(asked, parts, strict=True))
            )
            shortened = "\n\n".join(text.strip() for text in texts)
            if tokens_of(shortened) >= tokens_of(whole):
                return whole
            whole = shortened
            if tokens_of(whole) <= room:
                return whole
        return whole

    async def _ask(self, request: SubagentRequest, part: str, record: StepState) -> str:
        """Return a part's summary; the part itself where the worker has none."""
        request = await self.context.ledger.reserve(request)
        usage = None
        try:
            _, content = await run_task(
                subagent,
                request,
                name=f"{record.step.id}, {request.step}",
                wait_for=states_of(record.task_runs),
            )
            result = result_in(content)
            usage = result.usage if result else None
        finally:
            self.context.ledger.settle(request.key, usage)
        if result is None:
            return part
        # What a refusal or a loop has to say is not a summary, and a cut one leaves things out.
        return result.text if result.category is None else part
