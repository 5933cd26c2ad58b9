"""Steps that the orchestrator replaces while the run goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import NoPlanError, StepWaivedError
from ..result import Usage
from ..tasks.planner.adapter.line_format import system_prompt
from ..tasks.replan import read_replacement, replacement_request, replan
from ..tasks.subagent.request import SubagentResult
from .compile import CompiledStep
from .context import RunContext
from .records import StepRecord
from .task_run import result_in, run_task

__all__ = ["Replacements"]


@dataclass(slots=True)
class Replacements:
    """Replaces steps, at most `left` times more."""

    context: RunContext
    left: int

    async def replacement_for(self, record: StepRecord) -> CompiledStep:
        """Return the step that takes a failed one's place, under its id.

        Raises:
            BudgetExceededError: The run can't afford the question.
            NoPlanError: The orchestrator didn't answer, or wrote nothing that can be read.
            StepWaivedError: It does without the step.
        """
        self.left -= 1
        context, step = self.context, record.step
        attempts = reversed(record.attempts)
        failures = [attempt.error or str(attempt.category) for attempt in attempts]
        name = context.options.model_of("orchestrator")
        request = await context.ledger.reserve(
            replacement_request(
                context.plan.objective,
                step.id,
                step.agent,
                step.prompt,
                failures,
                key=f"{context.key}.{step.id}.replan.{record.revision + 1}",
                run=context.flow_run_id,
                model=name,
                evidence_chars=context.models.profile(name).feedback_chars * 2,
                limits=context.limits,
            )
        )
        usage: Usage | None = None
        result: SubagentResult | None = None
        try:
            state, content = await run_task(
                replan,
                request,
                name=f"{step.id} · Orchestrator · replan {record.revision + 1}",
                wait_for=record.states,
            )
            if (result := result_in(content)) is not None:
                usage = result.usage
                record.note(usage=result.usage, duration_s=result.work_s)
        finally:
            context.ledger.settle(request.key, usage)
        record.wait_for(state)
        if result is None:
            raise NoPlanError(
                f"The orchestrator could not be asked for a replacement: {content!r}."
            )
        if result.category is not None:
            raise NoPlanError(f"The orchestrator wrote no replacement: {result.error}")
        replacement = read_replacement(result.text, step.agent, step.prompt)
        if not replacement.agent:
            raise StepWaivedError(f"The orchestrator does without {step.id}: {replacement.prompt}")
        instructions = context.plan.instructions_for(system_prompt(replacement.agent))
        return replace(
            step,
            agent=replacement.agent,
            prompt=replacement.prompt,
            instructions=instructions,
            persona="",
            lesson="",
            used=(),
        )
