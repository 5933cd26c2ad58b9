"""What an attempt's model is asked, by the step and by what led to the attempt."""

from __future__ import annotations

import json
from typing import cast

from ..quoting import Quote
from ..result import Action, Attempt, Decision, excerpt
from ..task_ir import Tier
from ..tasks.failure_router import Failure, feedback
from ..tasks.subagent.request import NOT_ACCEPTED, SubagentRequest
from ..tasks.subagent.request_settings import form_grammar, output_requirements
from .bounds.limits import call_limits
from .context import RunContext
from .events import Launch
from .records import StepRecord

__all__ = ["attempt_request", "failures_of"]

_SEEDS_APART = 1000
_ADVICE = "A person says what to do:"
_BEFORE = {_ADVICE: "A person says: "}
"""What stands before a remark where all of them are one text, by which a request is found."""


def attempt_request(
    context: RunContext,
    record: StepRecord,
    launch: Launch,
    decision: Decision | None,
    *,
    sample: int = 0,
    race_name: str = "",
) -> SubagentRequest:
    """Return what the model of an attempt is asked, before the budget has been.

    Args:
        decision: What the attempt before led to; None at the first.
        sample: Its number among the samples of a race, whose name is `race_name`.
    """
    step, options, policy = record.step, context.options, context.options.policy
    tier = cast("Tier", launch.tier)
    schema = step.output.json_schema
    again = context.begun_again.get(step.id, 0)
    key = f"{context.key}.{step.id}{f'-{again}' if again else ''}.{launch.attempt}"
    action = decision.action if decision else None
    # A step that climbs leaves the model that its plan names.
    own = options.named(step.model) if step.model and tier == step.tier else ""
    model = own or options.model_of(tier)
    profile = context.models.profile(model)
    limits = call_limits(options, tier, profile, step.settings, step.timeout_s)
    temperature, room = limits.temperature, limits.max_output_tokens
    if action in ("SAMPLE", "THINK_HARDER"):
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
        begun=record.begun if continues else "",
        previous=record.best if action in ("ESCALATE", "DELEGATE") else "",
        sample=sample,
        race=race_name,
        priority=step.priority,
        output=step.output.kind,
        output_requirements=output_requirements(step.output),
        tools=step.tools,
        grammar=form_grammar(step.output),
        output_schema=json.dumps(schema, sort_keys=True) if schema else "",
        **dict(limits.model_copy(update=changes)),
    )


def _remarks(record: StepRecord, decision: Decision | None, limit: int) -> tuple[Quote, ...]:
    """What the next attempt is told: what was wrong, what a person says, what helped elsewhere."""
    if decision is None or decision.action in ("SAMPLE", "CONTINUE"):
        return ()
    failures = [failure for failure in failures_of(record) if failure.revision == record.revision]
    remarks = [Quote(text=feedback(failures, limit), label=NOT_ACCEPTED)]
    if decision.action == "ASK" and record.advice:
        remarks.append(Quote(text=excerpt(record.advice, limit), label=_ADVICE))
    if decision.example:
        remarks.append(Quote(text=decision.example.text))
    return tuple(remarks)


def failures_of(record: StepRecord, last: Attempt | None = None) -> list[Failure]:
    """Return how a step's attempts failed, `last` after those that its record has."""
    attempts = [*record.attempts, *([last] if last else [])]
    led_to: list[Action | None] = [None]
    led_to.extend(attempt.decision.action if attempt.decision else None for attempt in attempts)
    return [
        Failure(attempt.category, attempt.tier, attempt.error or "", action, attempt.revision)
        for attempt, action in zip(attempts, led_to, strict=False)
        if attempt.category is not None
    ]
