"""Who is to blame for a step that failed because of its input. Pure.

A step failed on its input if it never succeeded and
- an attempt failed as UPSTREAM, or
- its `integration` gate failed where its own tests, if any, passed: its output works alone, but not
  together with its input, or
- every attempt that says something failed as LOGIC, and at least two different pairs of persona and
  tier tried.

Its attempts are then excused, and the accepted attempts of the steps it read take the blame, in
equal shares, discounted for each step further up. A step that failed itself is not blamed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import Category
from ...frozen import Frozen
from ...result import Action
from ...task_ir import Tier
from ..episode import Episode, EpisodeKey
from .config import DEFAULTS, LearningConfig
from .reward import SILENT

__all__ = ["Credit", "Trace", "credit"]

_ENDS = ("SKIP", "FAIL")


class Trace(Frozen):
    """An attempt, as far as credit reads it. Those of one run belong together."""

    key: EpisodeKey
    persona: str
    tier: Tier
    succeeded: bool
    category: Category | None
    decision: Action | None
    reward: float
    upstream: tuple[str, ...] = ()
    apart: bool = False
    """Whether it failed only together with its input."""

    @property
    def is_last(self) -> bool:
        """Whether its step has failed with it."""
        return not self.succeeded and self.decision in _ENDS

    @classmethod
    def from_episode(cls, episode: Episode) -> Trace:
        """Read an episode."""
        failed = {gate.gate for gate in episode.gates if gate.status == "failed"}
        return cls(
            key=episode.key,
            persona=episode.persona,
            tier=episode.tier,
            succeeded=episode.succeeded,
            category=episode.category,
            decision=episode.decision,
            reward=episode.reward,
            upstream=episode.upstream,
            apart="integration" in failed and "unit" not in failed,
        )


class Credit(Frozen):
    """An attempt's corrected outcome.

    Attributes:
        success: Share of success, 0 to 1; None if it says nothing about who tried.
        reward: As `LearningConfig` values it; None if nothing is to be learned from it.
    """

    success: float | None
    reward: float | None
    reason: str


def credit(traces: Sequence[Trace], config: LearningConfig = DEFAULTS) -> dict[EpisodeKey, Credit]:
    """Return the attempts of a run whose credit differs from their outcome, and why.

    All others keep their outcome. Later attempts of the run may change the result.
    """
    steps: dict[str, list[Trace]] = {}
    for trace in sorted(traces, key=lambda trace: trace.key.attempt):
        steps.setdefault(trace.key.step, []).append(trace)
    changed: dict[EpisodeKey, Credit] = {}
    blamed: dict[str, list[tuple[float, str]]] = {}
    for name, attempts in steps.items():
        excused, reason = _find_excused(attempts)
        shares = _blame_shares(name, steps, config) if excused else {}
        # Without anyone else to blame, it was the step's own fault.
        if not shares:
            continue
        givers = ", ".join(step for step in _accepted_upstream(name, steps))
        for trace in excused:
            changed[trace.key] = Credit(
                success=None, reward=None, reason=f"{reason}; what {givers} gave is blamed"
            )
        for step, share in shares.items():
            blamed.setdefault(step, []).append((share, f"{name} failed on it: {reason}"))
    for name, found in blamed.items():
        accepted = _accepted_attempt(steps[name])
        if accepted is not None:
            changed[accepted.key] = _credit_blamed(accepted, found, config)
    return changed


def _find_excused(attempts: Sequence[Trace]) -> tuple[list[Trace], str]:
    """The attempts of a step that failed because of its input, and the sign of that."""
    if any(trace.succeeded for trace in attempts) or not attempts[-1].is_last:
        return [], ""
    upstream = [trace for trace in attempts if trace.category == Category.UPSTREAM]
    if upstream:
        return upstream, "its input was no good"
    apart = [trace for trace in attempts if trace.apart]
    if apart and apart[-1] is attempts[-1]:
        return apart, "alone it passed its tests, not together with its input"
    telling = [trace for trace in attempts if trace.category not in SILENT]
    tried = {(trace.persona, trace.tier) for trace in telling}
    if len(tried) > 1 and all(trace.category == Category.LOGIC for trace in telling):
        return telling, f"all {len(tried)} who tried got a wrong result"
    return [], ""


def _blame_shares(
    name: str, steps: Mapping[str, Sequence[Trace]], config: LearningConfig
) -> dict[str, float]:
    """How much of the blame each step above takes, 0 to 1, nearest first."""
    shares: dict[str, float] = {}
    level = {name: 1.0}
    for _ in range(config.blame_depth):
        above: dict[str, float] = {}
        for step, weight in level.items():
            givers = _accepted_upstream(step, steps)
            for giver in givers:
                if giver not in shares and giver != name:
                    above[giver] = above.get(giver, 0.0) + weight * config.blame / len(givers)
        shares.update(above)
        level = above
    return shares


def _accepted_upstream(name: str, steps: Mapping[str, Sequence[Trace]]) -> list[str]:
    names = dict.fromkeys(step for trace in steps[name] for step in trace.upstream)
    return [step for step in names if step in steps and _accepted_attempt(steps[step]) is not None]


def _accepted_attempt(attempts: Sequence[Trace]) -> Trace | None:
    """The attempt whose output others read."""
    return next((trace for trace in reversed(attempts) if trace.succeeded), None)


def _credit_blamed(
    accepted: Trace, found: Sequence[tuple[float, str]], config: LearningConfig
) -> Credit:
    kept = 1.0
    for share, _ in found:
        kept *= 1 - min(share, 1.0)
    return Credit(
        success=kept,
        reward=kept * accepted.reward + (1 - kept) * min(accepted.reward, config.failure),
        reason="; ".join(dict.fromkeys(reason for _, reason in found)),
    )
