"""A plan's graph as a Mermaid flowchart, for whoever draws it elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .markdown import label

__all__ = ["DagStep", "mermaid"]

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
    """A step as the graph shows it."""

    id: str
    agent: str
    prompt: str
    upstream: tuple[str, ...]
    status: str
    critical: bool = False


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
