"""A run that goes on, or has just ended, as its pages are made from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...inputs.pictures import without_pictures
from ...metrics.critical_path import measure
from ...plan.schedule_events import StepStatus
from ...report.messages import messages_of
from ...report.page import AttemptView, RunView, StepPicture, StepView
from ...report.stored_pictures import ON_PAGE, PictureRoom, step_pictures
from ...report.stored_view import SHOWN_CHARS, attempt_views, turn_views, why_of
from ...store.result import Cost, Planning, Recall, SwarmResult
from ...store.step import StepState
from ..context import RunContext, step_results
from ..step_needs import needs_of_records

__all__ = ["LiveRun"]


@dataclass(frozen=True, slots=True)
class LiveRun:
    """What is known of a run in the process that works on it.

    Attributes:
        planning: Where its plan came from.
        recall: What the memory made of the plan; None without one.
        began_at: When the run was first begun.
    """

    context: RunContext
    planning: Planning
    recall: Recall | None = None
    began_at: float = field(default=0.0)

    def view(self, result: SwarmResult | None = None, ended_at: float | None = None) -> RunView:
        """Return the view of the whole run, without the texts of its steps.

        Args:
            result: What the run came to, if it is over or left.
            ended_at: When it was.
        """
        records = self.context.records
        steps = result.steps if result else step_results([*records.values()])
        needs = needs_of_records(records.values())
        has_run = any(step.attempts for step in steps)
        metrics = result.metrics if result else measure(steps, needs, 0) if has_run else None
        answer = result.answer if result else ""
        run = self.context.run
        turns = turn_views(run) if self.context.options.turns > 1 else ()
        return RunView(
            run_id=self.context.run.run_id,
            flow_run_id=self.context.flow_run_id,
            objective=self.context.plan.objective,
            status=result.status if result else "running",
            answer=answer,
            problem=result.problem if result else "",
            steps=tuple(self._outline(records[step.id], step, answer) for step in steps),
            planning=self.planning,
            metrics=metrics,
            cost=result.cost if result else Cost.of(self.context.ledger.accounts.usage),
            recall=self.recall,
            taught=result.taught if result else (),
            time=result.time if result else None,
            parl=result.parl if result else None,
            messages=messages_of(run, turns),
            turns=turns,
            began_at=self.began_at,
            ended_at=ended_at,
        )

    def step(self, name: str) -> StepView:
        """Return the view of a step with its texts and pictures, read from the run's folder.

        Raises:
            RunDamagedError: A file of the run can't be read.
        """
        record, run = self.context.records[name], self.context.run
        result = record.stored()
        text = record.output.text if record.output else None
        return self._step(
            record,
            result,
            output=None if text is None else text[:SHOWN_CHARS],
            output_chars=len(text or ""),
            reads=self._reads(record),
            attempts=attempt_views(run, result, text),
            files=tuple(run.artifacts(result)),
            pictures=step_pictures(run, result, PictureRoom(ON_PAGE)),
        )

    def _outline(self, record: StepState, result: StepState, answer: str) -> StepView:
        """A step without its texts; but its output where that is the run's answer."""
        text = record.output.text if record.output else ""
        is_answer = bool(answer.strip()) and text.strip() == answer.strip()
        return self._step(record, result, output=text if is_answer else None)

    def _step(
        self,
        record: StepState,
        result: StepState,
        *,
        output: str | None = None,
        output_chars: int = 0,
        reads: tuple[tuple[str, int], ...] = (),
        attempts: tuple[AttemptView, ...] = (),
        files: tuple[str, ...] = (),
        pictures: tuple[StepPicture, ...] = (),
    ) -> StepView:
        step, status = record.step, record.now
        statuses: dict[str, StepStatus] = {
            name: self.context.records[name].now
            for name in step.needs
            if name in self.context.records
        }
        reason = record.taken_from.words if record.taken_from else record.reason
        return StepView(
            state=result,
            upstream=step.needs,
            status=status,
            why=why_of(step.needs, statuses, status, reason),
            kind=step.output.kind,
            optional=step.optional,
            reads=reads,
            attempts=attempts,
            output=output,
            output_chars=output_chars,
            files=files,
            pictures=pictures,
        )

    def _reads(self, record: StepState) -> tuple[tuple[str, int], ...]:
        read = self.context.upstream_of(record.step)
        return tuple((output.name, len(without_pictures(output.text))) for output in read)
