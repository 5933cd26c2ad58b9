"""What every planner is given and gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ...result import Usage
from ...task_ir import PlanRules, TaskIR
from .given_inputs import InputNote

__all__ = ["PlanContext", "PlanDraft", "Planner"]


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What a planner has to know beside the objective.

    Attributes:
        rules: Limits on the plan.
        seed: Seeds sampling; None is the model's own.
        max_tokens: The most tokens a plan may take; None is the planner's own.
        inputs: What is given to read; the rules have the names.
        facts: What the swarm has and has seen, bounded and quoted. The adapter's planner leaves it
            out: its prompt is the one that it was trained on.
        begun: What was complete of a plan that broke off; the adapter's planner leaves it out.
        notes: What the orchestrator found with tools before, bounded and quoted; read like facts.
    """

    rules: PlanRules = field(default_factory=PlanRules)
    seed: int | None = None
    max_tokens: int | None = None
    inputs: tuple[InputNote, ...] = ()
    facts: str = ""
    begun: str = ""
    notes: str = ""


@dataclass(frozen=True, kw_only=True)
class PlanDraft:
    """A plan that a model wrote.

    Attributes:
        text: What the model wrote, cut to 2,000 characters.
        usage: What all requests took.
        origin: How the plan was come by, in words.
        score: The plan's score, 0 to 1, where its planner scores plans.
        candidates: Plans that it was chosen from, itself included.
        adapter: The adapter that was applied, if any.
    """

    plan: TaskIR
    text: str
    usage: Usage
    origin: str
    score: float | None = None
    candidates: int = 1
    adapter: Path | None = None


class Planner(Protocol):
    """Decomposes an objective into a plan."""

    async def plan(self, objective: str, context: PlanContext) -> PlanDraft:
        """Write a plan.

        Raises:
            InputError: The objective is empty.
            NoPlanError: No plan that was written can be read; it has the last one's text.
        """
        ...
