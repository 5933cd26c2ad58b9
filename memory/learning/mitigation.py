"""Mitigations that have worked on failures, and when they replace the policy's. Pure.

Mitigations are looked up for the same symptom, else for all symptoms of the same gate. Only those
that were tried a few times count. The policy's next action stays unless it mostly failed and
another did better.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...plan.task_ir import Tier
from ...store.attempt import Action, ShownAttempt
from ...store.result import Mitigation
from ..episode import Episode
from ..graph_rows import MitigationTally
from ..log.rows import read_batches
from ..store import Store
from .evidence import Posterior, probability_better
from .lesson import repair_example
from .reward import DEFAULTS, LearningConfig

__all__ = [
    "MAX_MITIGATIONS",
    "better_mitigation",
    "combine_mitigations",
    "is_proven",
    "precedent",
    "precedents",
]


MAX_MITIGATIONS = 60
"""Mitigations that a run uses, at most; those that were tried most."""


_CLIMB: Action = "ESCALATE"


_EVEN = Posterior(0.5, float("inf"))


def combine_mitigations(
    found: Iterable[Mitigation], config: LearningConfig = DEFAULTS
) -> tuple[Mitigation, ...]:
    """Add up equal mitigations, by symptom and by gate; keep those that were tried often enough."""
    tallies: dict[tuple[str, Action, str], MitigationTally] = defaultdict(MitigationTally)
    for mitigation in found:
        target = mitigation.target if mitigation.action == _CLIMB else ""
        for symptom in dict.fromkeys(
            filter(None, (mitigation.symptom, _gate_prefix(mitigation.symptom)))
        ):
            key = (symptom, mitigation.action, target)
            tallies[key] = tallies[key].plus(
                MitigationTally(mitigation.tried, mitigation.worked, mitigation.recurred)
            )
    often = [pair for pair in tallies.items() if pair[1].tried >= config.min_samples]
    often.sort(key=lambda pair: (-pair[1].tried, pair[0]))
    return tuple(
        Mitigation(
            symptom=symptom,
            action=action,
            target=target,
            tried=tally.tried,
            worked=tally.worked,
            recurred=tally.recurred,
        )
        for (symptom, action, target), tally in often[:MAX_MITIGATIONS]
    )


def better_mitigation(
    due: Action,
    others: Sequence[Action],
    above: Tier | None,
    symptom: str,
    known: Sequence[Mitigation],
    *,
    samples: int,
    tier: Tier = "worker",
    config: LearningConfig = DEFAULTS,
) -> tuple[Mitigation, Mitigation] | None:
    """Return a better mitigation of a symptom than the due action, and the record of the due one.

    Better means more repairs for what the generated texts cost. A rule's actions are all tried
    sooner or later, and in the order of success by cost the least is spent until one works.

    Args:
        others: The other actions that the policy allows next.
        tier: The tier that the failed attempt was on.
        above: The tier that ESCALATE would lead to.
        known: The result of `combine_mitigations`.
        samples: Texts that SAMPLE generates.
    """
    for level in filter(None, (symptom, _gate_prefix(symptom))):
        own = precedent(due, above, level, known)
        if own is None or own.tried < config.min_samples:
            continue
        if own.worked * 2 >= own.tried:
            return None
        found = [
            mitigation
            for mitigation in (
                precedent(action, above, level, known) for action in dict.fromkeys(others)
            )
            if mitigation
            and mitigation.action != due
            and mitigation.worked
            and mitigation.tried >= config.min_samples
        ]
        dearer = config.prices[above] / config.prices[tier] if above else 1.0
        worth = [(_worth(mitigation, samples, dearer), mitigation) for mitigation in found]
        best = max(worth, key=lambda pair: pair[0].mean, default=None)
        if (
            best
            and probability_better(best[0], _worth(own, samples, dearer)) >= config.min_confidence
        ):
            return best[1], own
    return None


def precedent(
    action: Action, above: Tier | None, symptom: str, known: Sequence[Mitigation]
) -> Mitigation | None:
    """The record of an action on a symptom, or None."""
    target = above if action == _CLIMB else ""
    for mitigation in known:
        if (mitigation.symptom, mitigation.action, mitigation.target) == (symptom, action, target):
            return mitigation
    return None


def is_proven(mitigation: Mitigation, config: LearningConfig = DEFAULTS) -> bool:
    """Whether it works more often than not, with enough confidence."""
    often = mitigation.tried >= config.min_samples
    return often and probability_better(_belief(mitigation), _EVEN) >= config.min_confidence


def _gate_prefix(symptom: str) -> str:
    """The prefix of all symptoms of the same gate; "" if no gate found it."""
    found = re.match(r"gate [\w-]+:", symptom)
    return found[0] if found else ""


def _belief(mitigation: Mitigation) -> Posterior:
    """The posterior of its success rate, from an even prior."""
    return Posterior((1 + mitigation.worked) / (2 + mitigation.tried), 2 + mitigation.tried)


def _worth(mitigation: Mitigation, samples: int, dearer: float) -> Posterior:
    """The belief about what a single text on the failed attempt's tier costs.

    SAMPLE works if one of its independent texts passes.

    Args:
        dearer: How many times as much a text costs on the tier that ESCALATE leads to.
    """
    belief = _belief(mitigation)
    if mitigation.action == _CLIMB:
        return replace(belief, mean=belief.mean / dearer)
    if mitigation.action != "SAMPLE":
        return belief
    return replace(belief, mean=1 - (1 - belief.mean) ** (1 / samples))


_LATEST = 5000
"""Attempts that are read if the graph doesn't have them yet; the latest."""


def precedents(store: Store, namespace: str) -> tuple[Mitigation, ...]:
    """Return the known mitigations of failures; those that mostly work have an example.

    Raises:
        MemoryStoreError: The log or the graph can't be read.
    """
    # Options import this module's pure part, and have no use for the graph.
    from ..graph import mitigations, tallies_in

    graph, end = store.reader.graph_and_end()
    after = max(end, store.log.last_position() - _LATEST)
    newer = [entry for batch in read_batches(store.log, after) for entry in batch]
    tallies = tallies_in(graph, namespace, newer)
    combined = combine_mitigations(mitigations(tallies))
    latest: dict[tuple[str, str], int] = {}
    for (symptom, mitigation), tally in tallies.items():
        key = (json.loads(symptom)[1], json.loads(mitigation)[1])
        latest[key] = max(latest.get(key, 0), tally.repaired_at)
    repairs = {
        proven: latest.get((proven.symptom, proven.action), 0)
        for proven in combined
        if is_proven(proven)
    }
    episodes = store.log.at([*filter(None, repairs.values())])
    return tuple(_add_example(each, episodes.get(repairs.get(each, 0))) for each in combined)


def _add_example(mitigation: Mitigation, episode: Episode | None) -> Mitigation:
    if episode is None or not episode.excerpt:
        return mitigation
    example = ShownAttempt(
        run=episode.run, step=episode.step, attempt=episode.attempt, text=repair_example(episode)
    )
    return mitigation.model_copy(update={"example": example})
