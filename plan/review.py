"""Who reviews what a step made, or chooses among its samples, as a compiled step has it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .program import BestOf, Review
from .task_ir import Agent, Tier

__all__ = ["CompiledBestOf", "CompiledReview", "Reviewer", "compile_best_of", "compile_review"]


@dataclass(frozen=True, slots=True)
class Reviewer:
    """An agent that reads what others made; its model is that of its tier."""

    agent: str
    instructions: str
    tier: Tier


@dataclass(frozen=True, slots=True)
class CompiledReview:
    """A review with everything resolved.

    Attributes:
        votes: How many reviewers are asked.
        needed: How many of them have to accept.
        instructions: What they are to look for; "" for nothing beyond what was asked.
    """

    reviewer: Reviewer
    votes: int
    needed: int
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class CompiledBestOf:
    """Samples of the first attempt; without a judge the gates choose."""

    samples: int
    judge: Reviewer | None = None


def compile_review(
    review: Review | None, agents: Mapping[str, Agent], rules: Sequence[str]
) -> CompiledReview | None:
    """Resolve a review.

    Args:
        agents: The plan's agents by their names.
        rules: Rules for every agent.
    """
    if review is None:
        return None
    reviewer = _reviewer(agents[review.agent], rules)
    return CompiledReview(reviewer, review.votes, review.needed, review.instructions)


def compile_best_of(
    best_of: BestOf | None, agents: Mapping[str, Agent], rules: Sequence[str]
) -> CompiledBestOf | None:
    """Resolve a choice among samples; the arguments are those of `compile_review`."""
    if best_of is None:
        return None
    name = best_of.judging_agent
    return CompiledBestOf(best_of.samples, _reviewer(agents[name], rules) if name else None)


def _reviewer(agent: Agent, rules: Sequence[str]) -> Reviewer:
    return Reviewer(agent.name, "\n".join([agent.system_prompt, *rules]), agent.tier)
