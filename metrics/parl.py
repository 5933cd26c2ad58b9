"""A run by PARL's measures: critical steps turn by turn, and its reward. Pure.

Kimi K2.5's report (arXiv 2602.02276, "Critical Steps as Resource Constraint") takes an episode as a
sequence of stages. In stage t the main agent takes S_main(t) steps, mostly one, and may start a
group of subagents that run in parallel; the i-th of them takes S_sub,i(t) steps:

    CriticalSteps = Σ_t (S_main(t) + max_i S_sub,i(t))

A step of theirs is here a request to a model. A turn of the orchestrator begins a stage. What it
assigns there runs in parallel only as far as nothing of it needs another part: such a turn has a
group, and so a stage, for each level of needs, and only the first takes requests of the
orchestrator's own. Without needs inside the turns this is the formula as it stands.

The reward is published in two forms. The report's: r_PARL = λ1·r_parallel + λ2·r_finish + r_perf,
with λ1 and λ2 annealed to 0. The announcement's (kimi.com/blog/kimi-k2-5):
R = λ·r_parallel + (1 - λ)·1[success]·Q, with λ from 0.1 to 0. Neither says how the terms are
worked out; `ParlFigures` says how they are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from ..data_types import Count, Finite, Frozen
from ..plan.ids import root_of
from ..store.step import StepState

__all__ = [
    "AUXILIARY_WEIGHT",
    "PARTIAL_WORTH",
    "CollapseFinding",
    "OrchestratorTurn",
    "ParlFigures",
    "TurnSteps",
    "count_turns",
    "parl_figures",
    "turns_of_run",
]


AUXILIARY_WEIGHT = 0.1
"""λ, λ1 and λ2 as training begins. At its end they are 0; what counts then is `r_perf`."""
PARTIAL_WORTH = 0.3
"""r_perf of a partial run: what the memory's reward gives an attempt that is right in part."""


class OrchestratorTurn(NamedTuple):
    """A turn of the orchestrator.

    Attributes:
        number: From 1, which is the plan's.
        requests: Requests to its model in this turn.
        steps: Ids of the plan's steps that it assigned. What no turn assigned is the first's.
        seen: Ids of the steps whose outputs it was shown.
    """

    number: int
    requests: int
    steps: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()


class TurnSteps(Frozen):
    """The critical steps of a turn.

    Attributes:
        orchestrator: The orchestrator's requests, those for other steps in place of failed ones
            included.
        groups: Of each group of steps that can run in parallel, the most requests that one of them
            took; each group needs the one before it. Groups without any are left out.
    """

    number: Count
    orchestrator: Count
    groups: tuple[Count, ...] = ()

    @property
    def critical_steps(self) -> int:
        """Those of the whole turn."""
        return self.orchestrator + sum(self.groups)


class CollapseFinding(Frozen):
    """A sign of serial collapse, or of spurious parallelism.

    Attributes:
        kind: `waited`: it needs `other`, and seems to use nothing of it. `late`: a later turn
            assigned it, and it seems to use nothing of what was found before. `unread`: nobody read
            its output. `repeated`: it seems to ask for what `other` does.
        step: The step's id.
        other: The id of the other step; "" where there is none.
        turn: The turn that assigned it, where that matters; else 0.
    """

    kind: Literal["waited", "late", "unread", "repeated"]
    step: str
    other: str = ""
    turn: Count = 0

    @property
    def words(self) -> str:
        """It as a sentence."""
        match self.kind:
            case "waited":
                return f"{self.step} waited for {self.other} and seems to read nothing of it."
            case "late":
                return (
                    f"{self.step} was assigned in turn {self.turn} and seems to use nothing "
                    "that was found before."
                )
            case "unread":
                return f"{self.step}: no step needs its output, and the answer isn't made of it."
            case "repeated":
                return f"{self.step} seems to ask for the same as {self.other}."


class ParlFigures(Frozen):
    """A run by PARL's measures; `findings` name what costs time or requests for nothing."""

    turns: tuple[TurnSteps, ...]
    critical_steps: Count = Field(description="As published: the sum over all turns.")
    r_parallel: Finite = Field(
        description="Share of the subagents' requests that the slowest of each group didn't make: "
        "0 where one works after another."
    )
    r_finish: Finite = Field(
        description="Share of the assigned steps that succeeded, members in place of their step; "
        "without what a condition skipped."
    )
    r_perf: Finite = Field(
        description="1 for a completed run, 0.3 for a partial one, 0 for a failed one."
    )
    weight: Finite = Field(default=AUXILIARY_WEIGHT, description="λ, λ1 and λ2.")
    summed_reward: Finite = Field(description="λ1·r_parallel + λ2·r_finish + r_perf.")
    mixed_reward: Finite = Field(
        description="λ·r_parallel + (1 - λ)·r_perf; the second term is 0 if the run isn't "
        "completed."
    )
    findings: tuple[CollapseFinding, ...] = ()


def turns_of_run(
    planning: int, answering: int, later: Sequence[OrchestratorTurn] = ()
) -> tuple[OrchestratorTurn, ...]:
    """Return the turns of a run.

    Args:
        planning: Requests for the plan, which is turn 1.
        answering: Requests for the answer after all other turns; they are the last turn.
        later: The turns after the first, in order.
    """
    turns = [OrchestratorTurn(1, planning), *later]
    if answering:
        turns.append(OrchestratorTurn(turns[-1].number + 1, answering))
    return tuple(turns)


def count_turns(
    steps: Iterable[StepState],
    needs: Mapping[str, Sequence[str]],
    turns: Sequence[OrchestratorTurn],
) -> tuple[TurnSteps, ...]:
    """Count the critical steps of each turn.

    They are no more than all requests, and no fewer than the longest path through the steps.

    Args:
        steps: The run's steps and their members, in any order.
        needs: Ids of the steps that each of them waited for.
        turns: In order, the plan's first.
    """
    turns = turns or turns_of_run(0, 0)
    assigned = {step: turn.number for turn in turns for step in turn.steps}
    known = {step.id: step for step in steps}
    turn_of = {name: assigned.get(root_of(name), turns[0].number) for name in known}
    levels = _levels(needs, turn_of)
    own = {turn.number: turn.requests for turn in turns}
    groups: dict[int, dict[int, int]] = {turn.number: {} for turn in turns}
    for name, step in known.items():
        of_turn = groups[turn_of[name]]
        of_turn[levels[name]] = max(of_turn.get(levels[name], 0), step.calls)
        own[turn_of[name]] += _replanning(step)
    return tuple(
        TurnSteps(
            number=number,
            orchestrator=own[number],
            groups=tuple(filter(None, (most for _, most in sorted(of_turn.items())))),
        )
        for number, of_turn in groups.items()
    )


def parl_figures(
    steps: Sequence[StepState],
    needs: Mapping[str, Sequence[str]],
    turns: Sequence[OrchestratorTurn],
    status: Literal["completed", "partial", "failed"],
    findings: Sequence[CollapseFinding] = (),
) -> ParlFigures:
    """Return what a run is by PARL's measures.

    Args:
        steps: The run's steps and their members.
        needs: Ids of the steps that each of them waited for.
        turns: The orchestrator's, in order.
        status: How the run ended.
        findings: What was found out about its plan.
    """
    counted = count_turns(steps, needs, turns)
    slowest, requests = sum(sum(turn.groups) for turn in counted), sum(each.calls for each in steps)
    r_parallel = 1 - slowest / requests if requests else 0.0
    r_finish, r_perf = _finished(steps), _worth(status)
    success = r_perf if status == "completed" else 0.0
    return ParlFigures(
        turns=counted,
        critical_steps=sum(turn.critical_steps for turn in counted),
        r_parallel=r_parallel,
        r_finish=r_finish,
        r_perf=r_perf,
        summed_reward=AUXILIARY_WEIGHT * (r_parallel + r_finish) + r_perf,
        mixed_reward=AUXILIARY_WEIGHT * r_parallel + (1 - AUXILIARY_WEIGHT) * success,
        findings=tuple(findings),
    )


def _worth(status: Literal["completed", "partial", "failed"]) -> float:
    if status == "completed":
        return 1.0
    return PARTIAL_WORTH if status == "partial" else 0.0


def _finished(steps: Sequence[StepState]) -> float:
    parents = {step.parent for step in steps}
    # Without an agent a step joins outputs, and is nobody's work.
    assigned = [
        step for step in steps if step.id not in parents and step.agent and not step.by_condition
    ]
    done = sum(step.status == "succeeded" for step in assigned)
    return done / len(assigned) if assigned else 0.0


def _replanning(step: StepState) -> int:
    """Requests of the orchestrator for another step in place of this one."""
    return sum(each.decision.usage.requests for each in step.attempts if each.decision)


def _levels(needs: Mapping[str, Sequence[str]], turn_of: Mapping[str, int]) -> dict[str, int]:
    """Return how many steps of its own turn each step comes after, one behind another."""
    found: dict[str, int] = {}
    opened: set[str] = set()
    for start in turn_of:
        waiting = [start]
        while waiting:
            name = waiting[-1]
            own = [each for each in needs.get(name, ()) if turn_of.get(each) == turn_of[name]]
            if name not in opened:
                opened.add(name)
                waiting += [each for each in own if each not in opened]
                continue
            waiting.pop()
            if name not in found:
                found[name] = max((found[each] + 1 for each in own if each in found), default=0)
    return found
