"""What has been done about failures, and when that is reason enough to do it again. Pure.

A mitigation is looked at where the very same failure has been met, else among all that the same
gate found. It has to have been tried a few times, and earn its place by what came of it: the
policy's own next action stays unless it is known to fail mostly, and another to do better.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...result import Action, Mitigation
from ...task_ir import Tier
from ..graph.rows import MitigationTally, Rows
from ..learning.config import DEFAULTS, LearningConfig
from ..learning.posterior import Posterior, better

__all__ = [
    "MAX_MITIGATIONS",
    "better_mitigation",
    "combine_mitigations",
    "has_earned",
    "latest_repairs_in",
    "mitigations_in",
    "precedent",
]

MAX_MITIGATIONS = 60
"""Mitigations that a run takes with it, at most; those that were tried most."""

_CLIMB: Action = "ESCALATE"
_EVEN = Posterior(0.5, float("inf"))


def combine_mitigations(
    found: Iterable[Mitigation], config: LearningConfig = DEFAULTS
) -> tuple[Mitigation, ...]:
    """Add up what is said of the same, also by gate, and keep what was tried often enough."""
    tallies: dict[tuple[str, Action, str], MitigationTally] = defaultdict(MitigationTally)
    for mitigation in found:
        target = mitigation.target if mitigation.action == _CLIMB else ""
        for symptom in dict.fromkeys(filter(None, (mitigation.symptom, _gate(mitigation.symptom)))):
            key = (symptom, mitigation.action, target)
            tallies[key] = tallies[key].plus(
                MitigationTally(mitigation.tried, mitigation.worked, mitigation.recurred)
            )
    often = [pair for pair in tallies.items() if pair[1].tried >= config.min_samples]
    often.sort(key=lambda pair: (-pair[1].tried, pair[0]))
    return tuple(
        Mitigation(symptom=symptom, action=action, target=target, **tally._asdict())
        for (symptom, action, target), tally in often[:MAX_MITIGATIONS]
    )


def better_mitigation(
    due: Action,
    others: Sequence[Action],
    above: Tier | None,
    symptom: str,
    there: Sequence[Mitigation],
    *,
    samples: int,
    config: LearningConfig = DEFAULTS,
) -> tuple[Mitigation, Mitigation] | None:
    """Return what is better done about a symptom than what is due, and what is known of that.

    Better is what repairs more for each text that is asked for. Everything a rule has is done
    sooner or later, and in the order of success by cost the least is spent until something passes.

    Args:
        others: What else the policy allows next.
        above: The tier that ESCALATE would lead to.
        there: As `combine_mitigations` gives it.
        samples: Texts that a SAMPLE asks for.
    """
    for level in filter(None, (symptom, _gate(symptom))):
        own = precedent(due, above, level, there)
        if own is None or own.tried < config.min_samples:
            continue
        if own.worked * 2 >= own.tried:
            return None
        found = [
            mitigation
            for mitigation in (
                precedent(action, above, level, there) for action in dict.fromkeys(others)
            )
            if mitigation
            and mitigation.action != due
            and mitigation.worked
            and mitigation.tried >= config.min_samples
        ]
        worth = [(_of_a_text(mitigation, samples), mitigation) for mitigation in found]
        best = max(worth, key=lambda pair: pair[0].mean, default=None)
        if best and better(best[0], _of_a_text(own, samples)) >= config.min_confidence:
            return best[1], own
    return None


def precedent(
    action: Action, above: Tier | None, symptom: str, there: Sequence[Mitigation]
) -> Mitigation | None:
    """What is known of one action on one symptom, None if nothing."""
    target = above if action == _CLIMB else ""
    for mitigation in there:
        if (mitigation.symptom, mitigation.action, mitigation.target) == (symptom, action, target):
            return mitigation
    return None


def has_earned(mitigation: Mitigation, config: LearningConfig = DEFAULTS) -> bool:
    """Whether it works more often than not, as far as one can tell."""
    often = mitigation.tried >= config.min_samples
    return often and better(_belief(mitigation), _EVEN) >= config.min_confidence


def mitigations_in(rows: Rows, namespace: str) -> Iterator[Mitigation]:
    """What was done about any symptom of a namespace, as these rows have it."""
    for (symptom, mitigation), tally in rows.tallies.items():
        space, text = json.loads(symptom)
        _, action, target = json.loads(mitigation)
        if space == namespace:
            yield Mitigation(symptom=text, action=action, target=target, **tally._asdict())


def latest_repairs_in(rows: Rows, namespace: str) -> Mapping[tuple[str, str], int]:
    """As `queries.latest_repairs`, of these rows and all their symptoms."""
    positions: dict[tuple[str, str], int] = {}
    had = {attempt: json.loads(symptom) for attempt, symptom in rows.edges["HAS_SYMPTOM"]}
    for after, before in rows.edges["PRECEDED_BY"]:
        space, position, _, _, _, cause, succeeded, *_ = rows.nodes["Attempt"][after]
        if succeeded and space == namespace and before in had:
            key = (had[before][1], cause)
            positions[key] = max(position, positions.get(key, 0))
    return positions


def _gate(symptom: str) -> str:
    """What all symptoms of a gate begin with; "" for one that no gate found."""
    found = re.match(r"gate [\w-]+:", symptom)
    return found[0] if found else ""


def _belief(mitigation: Mitigation) -> Posterior:
    """From an even prior: what was never tried is as likely to work as not."""
    return Posterior((1 + mitigation.worked) / (2 + mitigation.tried), 2 + mitigation.tried)


def _of_a_text(mitigation: Mitigation, samples: int) -> Posterior:
    """What is believed of one text of an action: of so many independent ones, one has to pass."""
    belief = _belief(mitigation)
    if mitigation.action != "SAMPLE":
        return belief
    return replace(belief, mean=1 - (1 - belief.mean) ** (1 / samples))
