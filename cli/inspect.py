"""`prefect-swarm inspect`: a run as its files tell it, without a Prefect server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..errors import InputError
from ..result import Attempt, StepResult, SwarmResult
from ..tasks.report_attempts import change_line, decision_line, gate_line, outcome_line
from ..text import duration, one_line, plural
from .command import AsJson
from .output import print_json, print_section, print_table, print_text
from .resume import RunName
from .summary import print_summary

if TYPE_CHECKING:
    from ..runs import Run

__all__ = ["inspect"]


def inspect(
    run_name: RunName,
    step: Annotated[
        str | None, typer.Option("--step", help="A step's whole output and its attempts.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show a stored run: its result, or how far it came, or one step of it."""
    from ..runs import find_run

    run = find_run(run_name)
    result = run.result()
    if step is not None:
        _show_step(run, result, step.upper(), as_json=as_json)
    elif result is None:
        _show_unfinished(run, as_json=as_json)
    elif as_json:
        print_json(result)
    else:
        print_section(one_line(result.plan.objective, 200))
        print_summary(result)
    return 0


def _show_unfinished(run: Run, *, as_json: bool) -> None:
    about, plan, done = run.about(), _compiled(run), set(run.finished_steps())
    if as_json:
        print_json(
            {
                "run_id": run.run_id,
                "flow_run_id": about.get("flow_run_id"),
                "status": "unfinished",
                "objective": about.get("objective"),
                "plan": plan or None,
                "finished_steps": list(run.finished_steps()),
            }
        )
        return
    print_section(one_line(str(about.get("objective", "")), 200))
    if plan:
        _print_compiled(plan["steps"], done)
        print_text(f"{len(done)} of {plural(len(plan['steps']), 'step')} finished.")
    else:
        print_text("It had no plan yet.")
    print_text(
        "The run has not ended. If nothing runs it any more: prefect-swarm resume " + run.run_id
    )


def _compiled(run: Run) -> dict[str, Any]:
    return json.loads(run.read("plan.json") or "{}")


def _print_compiled(steps: list[dict[str, Any]], done: set[str]) -> None:
    print_table(
        ("Step", "Agent", "Tier", "Needs", "Finished", "Prompt"),
        (
            (
                step["id"],
                one_line(step["agent"], 30),
                step["tier"],
                one_line(", ".join(step["upstream"]), 24),
                "yes" if step["id"] in done else "",
                one_line(step["prompt"], 300),
            )
            for step in steps
        ),
    )


def _show_step(run: Run, result: SwarmResult | None, name: str, *, as_json: bool) -> None:
    planned = _prompt(run, name)
    step = next((s for s in result.steps if s.id == name), None) if result else None
    prompt = (step.prompt if step else "") or planned
    output = run.read(f"outputs/{name}.txt")
    if as_json:
        told = step.model_dump(mode="json") if step else {"id": name, "status": "unfinished"}
        print_json({**told, "prompt": prompt, "output": output})
        return
    print_section(f"{name} {step.agent}: {step.status}" if step else name)
    print_text(prompt)
    if step:
        _print_attempts(step)
    if output is not None:
        print_section("Output")
        print_text(output)
    elif step is None:
        print_text("It has not finished.")


def _prompt(run: Run, name: str) -> str:
    steps = cast("list[dict[str, Any]]", _compiled(run).get("steps", []))
    prompts = {step["id"]: str(step["prompt"]) for step in steps}
    if name not in prompts:
        there = f"{next(iter(prompts))} to {list(prompts)[-1]}" if prompts else "no steps yet"
        raise InputError(f"Run {run.run_id} has no step {name!r}.", f"There are {there}.")
    return prompts[name]


def _print_attempts(step: StepResult) -> None:
    if step.change:
        print_text(f"Changed: {change_line(step.change, step.planned)}")
    if step.reason:
        print_text(f"Reason: {step.reason}")
    for attempt in step.attempts:
        agent = f" · {attempt.agent}" if attempt.agent else ""
        print_section(f"Attempt {attempt.number}{agent}")
        for line in _attempt_lines(attempt):
            print_text(line)


def _attempt_lines(attempt: Attempt) -> list[str]:
    usage = attempt.usage
    lines = [
        f"{attempt.model} on tier {attempt.tier}: {duration(attempt.duration_s)}, after "
        f"{duration(attempt.queue_s)} of waiting; {usage.input_tokens:,} tokens read, "
        f"{usage.output_tokens:,} written",
    ]
    if attempt.samples > 1:
        lines.append(f"best of {attempt.samples} samples")
    if attempt.tokens_saved:
        lines.append(f"stopped early: {attempt.tokens_saved:,} tokens saved")
    if attempt.extraction and attempt.gates:
        lines.append(f"artifact: {attempt.extraction}")
    lines += gate_line(attempt)
    if attempt.category is not None:
        lines.append(f"failed: {attempt.category}: {one_line(attempt.error or '', 300)}")
    if (decision := attempt.decision) is not None:
        told = f"{decision_line(attempt)} by {decision.rule}: {decision.reason}"
        lines.append(f"decision: {told}")
        if came := outcome_line(decision):
            lines.append(f"it took {came}")
    return lines
