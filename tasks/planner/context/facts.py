"""What a planner is shown beside the objective, as data. Pure.

It is gathered once a run, kept in the run's folder, and part of the request for a plan, so that a
resumed run asks with the same. All texts in it are bounded by whoever gathers it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ....errors import Category
from ....frozen import Frozen
from ....output import OutputKind
from ....task_ir import Tier

__all__ = [
    "MOST_PLANS",
    "EarlierPlan",
    "EarlierStep",
    "GateFact",
    "PersonaFact",
    "PlanningFacts",
    "TierFact",
    "ToolFact",
    "ToolsetFact",
]

MOST_PLANS = 3
"""Earlier plans that a planner is shown."""


class TierFact(Frozen):
    """Tiers that one model serves, or the same several.

    Attributes:
        model: Its name, without address, folder and key.
        read_usd, written_usd: US dollars a million tokens; None where the price isn't known. Both
            are 0 for a model that runs on this machine.
    """

    tiers: tuple[Tier, ...]
    model: str
    read_usd: float | None = None
    written_usd: float | None = None


class GateFact(Frozen):
    """A gate, what passes it, and the output kinds that have it by default."""

    name: str
    about: str
    default_for: tuple[OutputKind, ...] = ()


class ToolFact(Frozen):
    """A tool, and what it does; "" if its toolset doesn't say."""

    name: str
    about: str = ""


class ToolsetFact(Frozen):
    """A toolset that agents may have.

    Attributes:
        about: What it is good for; "" if only its tools say.
        tools: The first of them; `more_tools` is how many more it has.
    """

    name: str
    about: str = ""
    tools: tuple[ToolFact, ...] = ()
    more_tools: int = 0


class PersonaFact(Frozen):
    """A persona of the registry.

    Attributes:
        title: Its name for people, which an agent may have.
        good_at: The beginning of its instructions.
        attempts: How many it made, older ones counting less; 0 is no record.
        rate: The share of them that succeeded, 0 to 1.
    """

    name: str
    title: str
    task_types: tuple[str, ...]
    good_at: str = ""
    attempts: int = 0
    rate: float = 0.0


class EarlierStep(Frozen):
    """A step of an earlier plan as its last attempt had it.

    Attributes:
        needs: The steps whose outputs it read.
        work_s: Seconds that all its attempts worked.
        failed: What its last attempt failed of; None if that succeeded or was kept.
    """

    id: str
    agent: str
    prompt: str
    needs: tuple[str, ...] = ()
    attempts: int = 1
    work_s: float = 0.0
    failed: Category | None = None


class EarlierPlan(Frozen):
    """What an earlier run did for an objective like this, and how it ended.

    Attributes:
        run: The flow run's id.
        similarity: That of the objectives, -1 to 1.
        status: `completed` if each step succeeded, `failed` if none did, `unfinished` if steps
            were not begun though none had failed.
        makespan_s: Seconds from the first attempt's start to the last one's end.
        steps: The first of them, in order; `more_steps` is how many more were tried.
        not_begun: Steps that were planned and never tried.
    """

    run: str
    objective: str
    similarity: float = 1.0
    status: Literal["completed", "partial", "failed", "unfinished"]
    makespan_s: float = Field(ge=0)
    steps: tuple[EarlierStep, ...]
    more_steps: int = 0
    not_begun: tuple[str, ...] = ()


class PlanningFacts(Frozen):
    """All of it, each the most useful first."""

    tiers: tuple[TierFact, ...] = ()
    gates: tuple[GateFact, ...] = ()
    toolsets: tuple[ToolsetFact, ...] = ()
    personas: tuple[PersonaFact, ...] = ()
    plans: tuple[EarlierPlan, ...] = Field(default=(), max_length=MOST_PLANS)
