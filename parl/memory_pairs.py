"""Pairs to train with from a memory: the objectives of completed runs, and their plans. Pure.

A plan that went badly is no example, and one that lines can't say is none either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import PlanError
from ..memory.episode import Episode
from ..plan.task_ir import final_step, parse_plan
from ..store.attempt import is_excerpt_whole
from ..tasks.planner.line_format import flat, output_kind, system_prompt, write_lines

__all__ = ["MemoryPairs", "pairs_of"]


_MOST_ATTEMPTS = 2.0
"""More attempts than this for each step, on average, and the plan is no example."""


@dataclass(frozen=True)
class MemoryPairs:
    """What a memory has to train with.

    Attributes:
        pairs: (objective, plan in lines), one an objective, in the order of the log.
        left_out: How many runs are no example, by the reason.
    """

    pairs: tuple[tuple[str, str], ...]
    left_out: Mapping[str, int]


class _LeftOutError(Exception):
    """Says why a run is no example."""


def pairs_of(episodes: Iterable[Episode]) -> MemoryPairs:
    """Return the plans of completed runs.

    A run is left out if a step of it failed, was never begun, was replaced or took many attempts;
    if it was for each item, in rounds or inside another step; if the memory keeps no more than the
    beginning of a text. Of several plans for an objective the one with the fewest attempts for each
    step stays, of equals the newest.
    """
    runs: defaultdict[str, list[Episode]] = defaultdict(list)
    for episode in episodes:
        runs[episode.run].append(episode)
    found: dict[str, tuple[float, str]] = {}
    left_out: Counter[str] = Counter()
    for run in runs.values():
        try:
            objective, plan, attempts = _pair(run)
        except _LeftOutError as reason:
            left_out[str(reason)] += 1
            continue
        if objective in found:
            left_out["another run of the objective went as well or better"] += 1
            if found[objective][0] < attempts:
                continue
        found[objective] = attempts, plan
    pairs = tuple((objective, plan) for objective, (_, plan) in found.items())
    return MemoryPairs(pairs, dict(left_out))


def _pair(episodes: Sequence[Episode]) -> tuple[str, str, float]:
    """Return the objective, the plan in lines, and the attempts that a step of it took."""
    objective = episodes[0].objective.strip()
    tries: defaultdict[str, list[Episode]] = defaultdict(list)
    for episode in sorted(episodes, key=lambda each: each.attempt):
        tries[episode.step].append(episode)
    _require(bool(objective), "it has no objective")
    texts = [objective, *(each.prompt for each in episodes)]
    _require(all(map(is_excerpt_whole, texts)), "a text of it is kept in part")
    steps = [f"S{number}" for number in range(1, len(tries) + 1)]
    _require(all(name.removeprefix("S").isdigit() for name in tries), "lines can't say its plan")
    named = {name for each in episodes for name in (*each.upstream, *each.downstream)}
    _require(tries.keys() == set(steps) >= named, "a step of it was never begun")
    _require(all(tries[name][-1].succeeded for name in steps), "a step of it failed")
    _require(not any(each.revision for each in episodes), "a step of it was replaced")
    attempts = len(episodes) / len(steps)
    _require(attempts <= _MOST_ATTEMPTS, "its steps took many attempts")
    return objective, _lines(objective, [tries[name][-1] for name in steps]), attempts


def _lines(objective: str, episodes: Sequence[Episode]) -> str:
    names = dict.fromkeys(_agent(episode.persona) for episode in episodes)
    data = {
        "objective": objective,
        "agents": [{"name": name, "system_prompt": system_prompt(name)} for name in names],
        "steps": [
            {
                "id": episode.step,
                "agent": _agent(episode.persona),
                "prompt": episode.prompt,
                "depends_on": [*episode.upstream],
                "output": {"kind": output_kind(episode.prompt)},
            }
            for episode in episodes
        ],
    }
    try:
        plan = parse_plan(data)
        return write_lines(flat(plan.model_copy(update={"final_step": final_step(plan.steps)})))
    except PlanError:
        raise _LeftOutError("lines can't say its plan") from None


def _agent(persona: str) -> str:
    """Return a name as lines have it: they begin with a capital, personas of the memory don't."""
    return persona if persona[:1].isupper() else persona.replace("-", " ").title()


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _LeftOutError(otherwise)
