"""Running the cases as a dataset of pydantic-evals, with the swarm as its task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from prefect.exceptions import CancelledRun
from pydantic_ai.models import Model
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorOutput
from pydantic_evals.lifecycle import CaseLifecycle
from pydantic_evals.reporting import ReportCase, ReportCaseFailure

from ..errors import RunCancelledError, SwarmError
from ..flows.control import called_with, current_control
from ..flows.options import SwarmOptions
from ..flows.swarm import swarm
from ..models.remote import open_models
from ..store.result import RunFailedError, SwarmResult
from .cases import EvalCase, EvalCases
from .checks import Verdict, verdicts_on
from .judge import judge_answer, judge_model
from .report import EvalRun

__all__ = ["EventTally", "run_cases"]


EventTally = Callable[[EvalCase, EvalRun], None]
"""Gets each run that ended."""


@dataclass(frozen=True, slots=True)
class _Job:
    case: EvalCase
    number: int


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a run ended; `error` says why it has no result, or none that is of use."""

    result: SwarmResult | None
    error: str = ""


async def run_cases(
    cases: EvalCases, options: SwarmOptions, tally: EventTally, concurrency: int = 1
) -> None:
    """Run each case as often as it asks for; a run that fails is reported like any other.

    Once the control around it is cancelled, no further run is begun, and the one under way isn't
    reported.

    Args:
        cases: What to run.
        options: Of all runs; the memory is used only where the cases want it, too.
        tally: Gets each run when it has been checked.
        concurrency: Parallel runs; makespans are comparable only with 1.

    Raises:
        InputError: A judge's name has none of the known forms.
        ModelError: A judge is not available.
    """
    chosen = options.model_copy(update={"memory": options.memory and cases.memory})
    async with open_models():
        judges = {
            case.name: await judge_model(case, options, concurrency)
            for case in cases.cases
            if case.checks.judge is not None
        }
        dataset: Dataset[_Job, _Ended, None] = Dataset(
            name=cases.name,
            cases=[
                _evaluated(_Job(case, number), judges.get(case.name))
                for case in cases.cases
                for number in range(1, case.times + 1)
            ],
        )

        async def task(job: _Job) -> _Ended:
            return await _run(job.case, chosen)

        await dataset.evaluate(
            task,
            task_name="swarm",
            max_concurrency=concurrency,
            progress=False,
            lifecycle=lambda case: _Telling(case, tally),
        )


def _evaluated(job: _Job, judge: Model | None) -> Case[_Job, _Ended, None]:
    asked: list[Evaluator[_Job, _Ended, None]] = [] if judge is None else [_Judged(judge)]
    name = f"{job.case.name} [{job.number}]"
    return Case(name=name, inputs=job, evaluators=[_Checked(), *asked])


async def _run(case: EvalCase, options: SwarmOptions) -> _Ended:
    if current_control().cancel.is_set():
        return _Ended(None, "it was cancelled")
    if case.checks.answer_schema is not None:
        options = options.model_copy(update={"answer_schema": case.checks.answer_schema})
    run = cast("Callable[..., Any]", swarm)
    try:
        with called_with(inputs=case.inputs):
            return _Ended(await run(case.objective, plan=case.plan, options=options))
    except RunFailedError as error:
        return _Ended(error.result, str(error))
    except (CancelledRun, RunCancelledError) as error:
        return _Ended(None, f"it was cancelled: {error}")
    except SwarmError as error:
        return _Ended(None, str(error))
    except Exception as error:  # noqa: BLE001 - one run's trouble is not the others'
        return _Ended(None, repr(error))


@dataclass(repr=False)
class _Checked(Evaluator[_Job, _Ended, None]):
    """All checks but the judge's."""

    async def evaluate(self, ctx: EvaluatorContext[_Job, _Ended, None]) -> EvaluatorOutput:
        checks, ended = ctx.inputs.case.checks, ctx.output
        found = await asyncio.to_thread(verdicts_on, checks, ended.result, ended.error)
        return {each.check: EvaluationReason(each.passed, each.reason) for each in found}


@dataclass(repr=False)
class _Judged(Evaluator[_Job, _Ended, None]):
    """The judge's verdict, where there is an answer."""

    model: Model

    async def evaluate(self, ctx: EvaluatorContext[_Job, _Ended, None]) -> EvaluatorOutput:
        case, result = ctx.inputs.case, ctx.output.result
        if case.checks.judge is None or result is None or not result.answer:
            return {}
        rubric = case.checks.judge.rubric
        asked = judge_answer(self.model, case.objective, result.answer, rubric)
        found = await current_control().unless_cancelled(asked)
        costs = {} if found.usd is None else {"judge_usd": found.usd}
        verdict = EvaluationReason(found.passed, found.reason)
        return {"judge": verdict, "judge_tokens": found.tokens, **costs}

    def get_default_evaluation_name(self) -> str:
        return "judge"

    def build_serialization_arguments(self) -> dict[str, Any]:
        return {}


class _Telling(CaseLifecycle[_Job, _Ended, None]):
    """Tells of a run once it is checked, so that what is done is known whatever comes later."""

    def __init__(self, case: Case[_Job, _Ended, None], tally: EventTally) -> None:
        super().__init__(case)
        self._tally = tally

    async def teardown(
        self,
        result: ReportCase[_Job, _Ended, None] | ReportCaseFailure[_Job, _Ended, None] | None,
    ) -> None:
        if result is None or current_control().cancel.is_set():
            return
        job = self.case.inputs
        if isinstance(result, ReportCaseFailure):
            verdict = Verdict(check="run", passed=False, reason=result.error_message)
            self._tally(job.case, EvalRun(number=job.number, status="failed", verdicts=(verdict,)))
        else:
            self._tally(job.case, _run_of(job.number, result))


def _run_of(number: int, case: ReportCase[_Job, _Ended, None]) -> EvalRun:
    result = case.output.result
    found = [
        Verdict(check=name, passed=each.value, reason="" if each.value else each.reason or "")
        for name, each in case.assertions.items()
    ]
    broken = [
        Verdict(check=each.name, passed=False, reason=f"it can't be checked: {each.error_message}")
        for each in case.evaluator_failures
    ]
    tokens, usd = case.scores.get("judge_tokens"), case.scores.get("judge_usd")
    return EvalRun(
        number=number,
        run_id=result.run_id if result else "",
        status=result.status if result else "failed",
        verdicts=(*found, *broken),
        makespan_s=result.metrics.makespan_s if result else None,
        steps=sum(not step.parent for step in result.steps) if result else None,
        tokens=result.cost.tokens if result else None,
        usd=result.cost.money_usd if result else None,
        judge_tokens=int(tokens.value) if tokens else 0,
        judge_usd=usd.value if usd else None,
    )
