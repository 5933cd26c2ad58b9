"""A run's plan and what the memory made of it, so that no later process asks for them again."""

from __future__ import annotations

import logging
from typing import Any, TypeVar

from prefect.client.schemas.objects import State
from pydantic import BaseModel, ValidationError

from ...errors import RunDamagedError
from ...frozen import Frozen
from ...result import Exploration, Recall
from ...runs import RunFolder
from ...tasks.planner.context.facts import PlanningFacts
from ...tasks.planner.task import Planned
from .restore import state_of

__all__ = [
    "StoredExploration",
    "StoredFacts",
    "StoredPlanning",
    "StoredRecall",
    "load",
    "save",
    "task_run_of",
]

_logger = logging.getLogger("prefect_swarm.runs")


class _WithState(Frozen):
    """What a task run gave; `task_run` is Prefect's id of it."""

    task_run: str = ""

    @property
    def state(self) -> State[Any] | None:
        """What the next task runs wait for."""
        return state_of(self.task_run) if self.task_run else None


class StoredPlanning(_WithState):
    """A plan, and where it came from."""

    planned: Planned


class StoredExploration(_WithState):
    """What the orchestrator found with tools before it planned."""

    exploration: Exploration


class StoredFacts(Frozen):
    """What the planner is shown; None if it is shown nothing."""

    facts: PlanningFacts | None


class StoredRecall(_WithState):
    """What the memory made of the plan; None if the run has no memory."""

    recall: Recall | None


K = TypeVar("K", StoredExploration, StoredFacts, StoredPlanning, StoredRecall)
_Kept = StoredExploration | StoredFacts | StoredPlanning | StoredRecall
_NAMES: dict[type[BaseModel], str] = {
    StoredExploration: "explored.json",
    StoredFacts: "facts.json",
    StoredPlanning: "planned.json",
    StoredRecall: "recall.json",
}


def load(run: RunFolder, kind: type[K], edits: int = 0) -> K | None:
    """Return what an earlier process of the run kept; None if it kept nothing that can be read.

    Args:
        edits: How often the plan had been edited when it was kept.
    """
    name = _name(kind, edits)
    try:
        found = run.read_json(name)
        return kind.model_validate(found) if found else None
    except RunDamagedError as error:
        _logger.warning("%s It is looked for in Prefect's results.", error.problem)
    except ValidationError:
        _logger.warning("%s is damaged. It is looked for in Prefect's results.", run.folder / name)
    return None


def save(run: RunFolder, kept: _Kept, edits: int = 0) -> None:
    """Keep it; `edits` is how often the plan has been edited."""
    run.store(_name(type(kept), edits), kept)


def _name(kind: type[BaseModel], edits: int) -> str:
    name = _NAMES[kind]
    return name.replace(".json", f"-{edits}.json") if edits else name


def task_run_of(state: State[Any] | None) -> str:
    """Return Prefect's id of the task run that ended in a state; "" if there is none."""
    found = state.state_details.task_run_id if state else None
    return str(found) if found else ""
