"""What a local model's plans are worth on pairs of objective and plan, made as they are served."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..blocks.llama.model import LlamaCppModel
from ..errors import PlanError
from ..tasks.planner.local.line_format import read_lines
from ..tasks.planner.planner import draft_plan
from .agreement import Agreement, agreement

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """A planner's figures over some pairs.

    Attributes:
        plans: Pairs that were tried.
        readable: Share that gave a plan.
        exact: Share that gave the wanted steps and edges.
        edge_f1: Precision and recall of all edges together, as one.
        faithful: Mean share of the wanted words that the paired steps say.
        seconds: A plan's, on average.
    """

    plans: int
    readable: float
    exact: float
    edge_f1: float
    faithful: float
    seconds: float

    @property
    def score(self) -> float:
        """What adapters are compared by, 0..1: the mean of exact, edges and words."""
        return (self.exact + self.edge_f1 + self.faithful) / 3


async def evaluate(
    pairs: Sequence[tuple[str, str]],
    model: LlamaCppModel,
    *,
    samples: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Evaluation:
    """Plan every objective through the engine, one after another.

    Args:
        pairs: Objective and the wanted plan in lines; at least one.
        model: It plans with its planner's adapter, if it has one.
        samples: The most plans to write for one objective.

    Raises:
        PlanError: A wanted plan can't be read.
    """
    began = clock()
    found: list[Agreement] = []
    for objective, lines in pairs:
        wanted = read_lines(lines, objective)
        try:
            plan = (await draft_plan(objective, model, samples=samples)).plan
        except PlanError:
            plan = None
        found.append(agreement(plan, wanted))
    return _figures(found, clock() - began)


def _figures(found: Sequence[Agreement], seconds: float) -> Evaluation:
    count = len(found)
    edges = sum(one.said + one.wanted for one in found)
    return Evaluation(
        plans=count,
        readable=sum(one.readable for one in found) / count,
        exact=sum(one.exact for one in found) / count,
        edge_f1=2 * sum(one.right for one in found) / edges if edges else 1.0,
        faithful=sum(one.faithful for one in found) / count,
        seconds=seconds / count,
    )
