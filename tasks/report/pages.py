"""What a person reads of a run in the Prefect UI: Markdown, written from data. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...result import Attempt, StepResult, SwarmResult
from ...text import dollars, one_line
from .attempts import attempts_markdown, change_line
from .markdown import label, plain, table
from .memory import memory_markdown
from .taken import taken_line, taken_words
from .timeline import LEGEND, timeline

__all__ = ["DagStep", "dag_markdown", "mermaid", "timeline_markdown"]

_MOST_NODES = 80  # Mermaid gives up at 500 edges and 50,000 characters; people much earlier
_MOST_EDGES = 300
_WIDTH = 64  # characters of a code block that fit on a page
_LOOK = {
    "waiting": "fill:#eceff1,stroke:#90a4ae,color:#37474f",
    "asked": "fill:#e0f2f1,stroke:#00897b,color:#004d40",
    "ready": "fill:#fff8e1,stroke:#ffb300,color:#5d4037",
    "running": "fill:#e3f2fd,stroke:#1e88e5,color:#0d47a1",
    "succeeded": "fill:#e8f5e9,stroke:#43a047,color:#1b5e20",
    "failed": "fill:#ffebee,stroke:#e53935,color:#b71c1c",
    "skipped": "fill:#f3e5f5,stroke:#8e24aa,color:#4a148c",
    "cancelled": "fill:#efebe9,stroke:#6d4c41,color:#3e2723",
}


@dataclass(frozen=True, slots=True)
class DagStep:
    """One step as the DAG shows it; `why` says what it waits for or how it ended.

    `change` says how it became another step than planned, and `planned` what it was.
    """

    id: str
    agent: str
    prompt: str
    upstream: tuple[str, ...]
    status: str
    why: str
    critical: bool = False
    change: str = ""
    planned: str = ""


def mermaid(steps: Sequence[DagStep]) -> str:
    """Draw the steps as a Mermaid flowchart, coloured by status, the critical path thick."""
    lines = ["flowchart LR"]
    for step in steps:
        shown = f"{step.id} · {label(step.agent, 40)}<br/>{label(step.prompt, 60)}"
        lines.append(f'    {step.id}["{shown}"]:::{step.status}')
    critical = {step.id for step in steps if step.critical}
    for step in steps:
        for needed in step.upstream:
            arrow = "==>" if step.id in critical and needed in critical else "-->"
            lines.append(f"    {needed} {arrow} {step.id}")
    used = {step.status for step in steps}
    lines += [f"    classDef {status} {_LOOK[status]}" for status in _LOOK if status in used]
    return "\n".join(lines)


def dag_markdown(objective: str, steps: Sequence[DagStep], shown: str = "") -> str:
    """Write the plan's page: the graph and each step's status, with the reason for it.

    `shown` says which memories the planner was shown; "" for none.
    """
    counts = {status: sum(s.status == status for s in steps) for status in _LOOK}
    summary = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    parts = [f"**{plain(objective, 300)}**", f"{len(steps)} steps: {summary}."]
    if shown:
        parts.append(plain(shown, 300))
    edges = sum(len(step.upstream) for step in steps)
    if len(steps) <= _MOST_NODES and edges <= _MOST_EDGES:
        parts.append(f"```mermaid\n{mermaid(steps)}\n```")
    else:
        parts.append(f"The graph has {edges} edges, too many to draw; the table has them all.")
    rows = [
        (s.id, s.agent, one_line(s.prompt, 120), _needs(s.upstream), s.status, _why(s))
        for s in steps
    ]
    parts.append(table(("Step", "Agent", "Prompt", "Needs", "Status", "Why"), rows))
    return "\n\n".join(parts)


def timeline_markdown(result: SwarmResult) -> str:
    """Write the timeline's page: bars, critical path, figures, slack, attempts and decisions."""
    metrics, cost = result.metrics, result.cost
    money = f", {dollars(cost.money_usd)}" if cost.money_usd is not None else ""
    figures = [
        ("critical steps", str(metrics.critical_steps)),
        ("makespan", f"{metrics.makespan_s:.2f} s"),
        ("critical path", f"{metrics.critical_path_s:.2f} s"),
        ("waits for models on the critical path", f"{metrics.critical_wait_s:.2f} s"),
        ("work", f"{metrics.work_s:.2f} s"),
        ("parallelism (work ÷ critical path)", f"{metrics.parallelism:.2f}"),
        ("speedup (work ÷ makespan)", f"{metrics.speedup:.2f}"),
        ("cost", f"{cost.calls} calls, {cost.tokens} tokens{money}"),
    ]
    path = " → ".join(step.id for step in result.steps if step.critical) or "none"
    ran = [step for step in result.steps if step.attempts]
    parts = [f"Run `{result.run_id}` is **{result.status}**. Critical path: **{path}**."]
    if result.problem:
        parts.append(plain(result.problem, 600))
    if taken := taken_line(result.steps):
        parts.append(plain(taken, 600))
    if ran and len(ran) <= _MOST_NODES:
        parts.append("\n".join(["```", *timeline(ran, _WIDTH, figures=False), "", LEGEND, "```"]))
    parts.append(table(("Figure", "Value"), figures))
    columns = ("Step", "Agent", "Status", "Start", "Work", "Waited", "Slack", "Tokens", "Model")
    rows = [_timeline_row(step, _origin(ran)) for step in result.steps]
    parts.append(table((*columns, "Critical"), rows))
    parts += attempts_markdown(result.steps, result.planning.explored)
    parts += memory_markdown(result)
    return "\n\n".join(parts)


def _timeline_row(step: StepResult, origin: float) -> tuple[str, ...]:
    if not step.attempts:
        return (step.id, step.agent, step.status, *[""] * 5, taken_words(step), "")
    tries = step.attempts
    return (
        step.id,
        step.agent,
        step.status,
        f"{tries[0].started_at - origin:.2f} s",
        f"{sum(attempt.duration_s for attempt in tries):.2f} s",
        f"{sum(attempt.queue_s for attempt in tries):.2f} s",
        "" if step.slack_s is None else f"{step.slack_s:.2f} s",
        str(sum(map(_tokens, tries))),
        tries[-1].model,
        "yes" if step.critical else "",
    )


def _tokens(attempt: Attempt) -> int:
    """What an attempt took, and what its decision asked of the orchestrator."""
    return attempt.usage.tokens + (attempt.decision.usage.tokens if attempt.decision else 0)


def _origin(steps: Sequence[StepResult]) -> float:
    return min((step.attempts[0].started_at for step in steps), default=0.0)


def _why(step: DagStep) -> str:
    changed = change_line(step.change, one_line(step.planned, 140))
    return "; ".join(filter(None, [changed, step.why]))


def _needs(upstream: Sequence[str]) -> str:
    return ", ".join(upstream) if len(upstream) <= 8 else f"{len(upstream)} steps"
