"""Results and reports for tests of evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from prefect_swarm.evals.checks import Verdict
from prefect_swarm.evals.report import CaseReport, EvalReport, EvalRun
from prefect_swarm.store.result import Cost, Metrics, Planning, SwarmResult
from prefect_swarm.store.step import StepState

__all__ = ["eval_report", "eval_run", "swarm_result"]


def swarm_result(
    answer: str,
    *,
    status: Literal["completed", "partial", "failed"] = "completed",
    problem: str = "",
    steps: int = 1,
    tokens: int = 10,
    makespan_s: float = 1.0,
    usd: float | None = 0.0,
) -> SwarmResult:
    """A result with these figures."""
    ids = [f"S{number + 1}" for number in range(steps)]
    plan: dict[str, Any] = {
        "objective": "Compare",
        "agents": [{"name": "Writer", "system_prompt": "You write."}],
        "steps": [{"id": step, "agent": "Writer", "prompt": f"Write {step}"} for step in ids],
    }
    return SwarmResult.model_validate(
        {
            "run_id": "0" * 12,
            "flow_run_id": "0" * 32,
            "status": status,
            "answer": answer,
            "plan": plan,
            "content_hash": "",
            "planning": Planning(source="user"),
            "steps": [StepState(id=step, agent="Writer", status="succeeded") for step in ids],
            "metrics": Metrics(
                critical_steps=1,
                makespan_s=makespan_s,
                critical_path_s=1.0,
                work_s=1.0,
                parallelism=1.0,
                speedup=1.0,
            ),
            "cost": Cost(tokens=tokens, money_usd=usd),
            "problem": problem,
        }
    )


def eval_run(number: int, tokens: int, *, passed: bool = True) -> EvalRun:
    """A completed run that took so many tokens, and as many seconds."""
    verdict = Verdict(check="run", passed=passed, reason="" if passed else "wrong")
    return EvalRun(
        number=number,
        run_id=f"{number:012}",
        status="completed",
        verdicts=(verdict,),
        makespan_s=float(tokens),
        steps=1,
        tokens=tokens,
        usd=0.0,
    )


def eval_report(
    tokens: Sequence[int],
    *,
    passes: int | None = None,
    started_at: float = 0.0,
    fingerprint: str = "same",
    name: str = "drinks",
) -> EvalReport:
    """A finished report of one case whose runs took so many tokens; the first `passes` passed."""
    enough = len(tokens) if passes is None else passes
    runs = [
        eval_run(number, count, passed=number <= enough) for number, count in enumerate(tokens, 1)
    ]
    case = CaseReport(name=name, fingerprint=fingerprint, times=len(tokens), runs=tuple(runs))
    return EvalReport(
        name="cases", started_at=started_at, models={"model": "m"}, finished=True, cases=(case,)
    )
