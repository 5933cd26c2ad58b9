"""Steps that the orchestrator replaces while the run goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import Category, NoPlanError, StepWaivedError, UnusableReplacementError
from ..result import Usage, excerpt
from ..tasks.planner.adapter.line_format import system_prompt
from ..tasks.replan import Replacement, read_replacement, replacement_request, replan
from ..tasks.subagent.request import SubagentRequest, SubagentResult
from .compile import CompiledStep
from .context import RunContext
from .records import StepRecord
from .task_run import result_in, run_task

__all__ = ["Replacements"]

_SEEDS_APART = 1000
_REASON_CHARS = 200
_WRITTEN_WRONG = frozenset({Category.EARLY_ABORT, Category.FORMAT, Category.TRUNCATED})
"""What another answer to the same question may well not have."""


@dataclass(slots=True)
class Replacements:
    """Replaces steps, at most `left` times more."""

    context: RunContext
    left: int

    async def replacement_for(self, record: StepRecord) -> CompiledStep:
        """Return the step that takes a failed one's place, under its id.

        An answer that is none is asked for once more, with another seed. The step's last decision
        says what the question took and, where nothing is raised, what came of it.

        Raises:
            BudgetExceededError: The run can't afford the question.
            NoPlanError: The orchestrator didn't answer, or twice wrote nothing that can be used.
            StepWaivedError: It does without the step.
        """
        self.left -= 1
        replacement, asked_again = await self._replacement(record)
        if not replacement.agent:
            reason = f"The orchestrator does without {record.step.id}: {replacement.prompt}"
            raise StepWaivedError(reason + asked_again)
        record.note(outcome=f"{replacement.agent}: {replacement.prompt}{asked_again}")
        return self._replaced(record.step, replacement)

    async def _replacement(self, record: StepRecord) -> tuple[Replacement, str]:
        """Ask, and once more if need be; return what to say of that, too."""
        question = self._question(record)
        try:
            return await self._ask(record, question), ""
        except UnusableReplacementError as error:
            first = error
        again = f" (asked twice, since at first: {excerpt(first.problem, _REASON_CHARS)})"
        try:
            return await self._ask(record, self._again(question)), again
        except UnusableReplacementError as error:
            raise NoPlanError(error.problem + again, error.fix, error.text) from None

    def _question(self, record: StepRecord) -> SubagentRequest:
        context, step = self.context, record.step
        attempts = reversed(record.attempts)
        failures = [attempt.error or str(attempt.category) for attempt in attempts]
        name = context.options.model_of("orchestrator")
        return replacement_request(
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

    def _again(self, question: SubagentRequest) -> SubagentRequest:
        policy = self.context.options.policy
        profile = self.context.models.profile(question.model)
        temperature = policy.sample_temperature or profile.sample_temperature
        changes = {
            "key": f"{question.key}.2",
            "attempt": 2,
            "seed": question.seed + _SEEDS_APART,
            "temperature": temperature or question.temperature,
        }
        return question.model_copy(update=changes)

    async def _ask(self, record: StepRecord, question: SubagentRequest) -> Replacement:
        again = " · once more" if question.attempt > 1 else ""
        name = f"{record.step.id} · Orchestrator · replan {record.revision + 1}{again}"
        request = await self.context.ledger.reserve(question)
        usage: Usage | None = None
        result: SubagentResult | None = None
        try:
            state, content = await run_task(replan, request, name=name, wait_for=record.states)
            if (result := result_in(content)) is not None:
                usage = result.usage
                record.note_question(usage, result.work_s)
        finally:
            self.context.ledger.settle(request.key, usage)
        record.wait_for(state)
        if result is None:
            raise NoPlanError(
                f"The orchestrator could not be asked for a replacement: {content!r}."
            )
        if result.category is not None:
            kind = UnusableReplacementError if result.category in _WRITTEN_WRONG else NoPlanError
            raise kind(f"The orchestrator wrote no replacement: {result.error}")
        return read_replacement(result.text, record.step.agent, record.step.prompt)

    def _replaced(self, step: CompiledStep, replacement: Replacement) -> CompiledStep:
        instructions = self.context.plan.instructions_for(system_prompt(replacement.agent))
        return replace(
            step,
            agent=replacement.agent,
            prompt=replacement.prompt,
            instructions=instructions,
            persona="",
            lesson="",
            used=(),
        )
