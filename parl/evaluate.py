"""Score a local model's plans on pairs of objective and wanted plan, generated as in production."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..blocks.llama.model import LlamaCppModel
from ..errors import PlanError
from ..tasks.planner.adapter.line_format import read_lines
from ..tasks.planner.adapter.planner import AdapterPlanner
from ..tasks.planner.grammar import GrammarPlanner
from ..tasks.planner.protocol import PlanContext
from .agreement import Agreement, agreement

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """A planner's scores over some pairs.

    Attributes:
        plans: Number of pairs.
        readable: Share of objectives that got a plan.
        exact: Share of plans with the wanted steps and edges.
        edge_f1: F1 over the edges of all plans together.
        faithful: Mean share of the wanted words that the paired steps have.
        seconds: Mean seconds for one plan.
    """

    plans: int
    readable: float
    exact: float
    edge_f1: float
    faithful: float
    seconds: float

    @property
    def score(self) -> float:
        """The score that adapters are compared by, 0..1: the mean of exact, edges and words."""
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
        pairs: Objectives and their wanted plans in lines; at least one.
        model: Plans with its planner adapter, if it has one.
        samples: The most plans to generate for one objective.

    Raises:
        PlanError: A wanted plan can't be read.
    """
    adapter = model.planner_adapter
    planner = (
        AdapterPlanner(model, adapter, samples=samples)
        if adapter is not None
        else GrammarPlanner(model, model)
    )
    start = clock()
    results: list[Agreement] = []
    for objective, lines in pairs:
        wanted = read_lines(lines, objective)
        try:
            plan = (await planner.plan(objective, PlanContext())).plan
        except PlanError:
            plan = None
        results.append(agreement(plan, wanted))
    return _average(results, clock() - start)


def _average(results: Sequence[Agreement], seconds: float) -> Evaluation:
    count = len(results)
    edges = sum(result.plan_edges + result.wanted_edges for result in results)
    return Evaluation(
        plans=count,
        readable=sum(result.readable for result in results) / count,
        exact=sum(result.exact for result in results) / count,
        edge_f1=2 * sum(result.matched_edges for result in results) / edges if edges else 1.0,
        faithful=sum(result.faithful for result in results) / count,
        seconds=seconds / count,
    )
