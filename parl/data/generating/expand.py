"""From a pattern to one pair of an objective and its plan."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from ....errors import InputError
from ..parsing.pattern import Pattern, StepPattern
from .chance import seeded
from .draw import Scene, draw_scene
from .limits import name_problem, objective_problem, plan_problem, prompt_problem
from .marked import Marked
from .render import Renderer

__all__ = ["Expansion", "MisfitError", "draw", "expand"]

_TRIES = 40


class MisfitError(ValueError):
    """One random draw breaks a limit; another may not."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """One draw of a pattern.

    Attributes:
        plan: The numbered lines.
        needs: For each step, the indices of the steps it needs.
        asked, told: The variables in the objective and in the plan.
    """

    objective: Marked
    plan: str
    needs: tuple[tuple[int, ...], ...]
    asked: frozenset[str]
    told: frozenset[str]


def expand(pattern: Pattern, rng: random.Random) -> Expansion:
    """Draw until a plan fits.

    Raises:
        InputError: None of many draws fits.
    """
    problem = ""
    for _ in range(_TRIES):
        try:
            return draw(pattern, rng)
        except MisfitError as error:
            problem = str(error)
    fix = "Shorten it, or run the check on its file."
    raise InputError(f"{pattern.where}: no draw of the pattern fits: {problem}.", fix)


def draw(pattern: Pattern, rng: random.Random) -> Expansion:
    """Draw once.

    Raises:
        MisfitError: The plan breaks a limit.
    """
    scene = draw_scene(pattern, rng)
    asking, telling = Renderer(scene), Renderer(scene)
    objective = asking.write(rng.choice(pattern.asks), rng)
    lines, needs = _lines(pattern, scene, telling, rng)
    plan = "\n".join(lines)
    if problem := objective_problem(objective.plain()) or plan_problem(plan, objective.plain()):
        raise MisfitError(problem)
    return Expansion(objective, plan, tuple(needs), *map(frozenset, (asking.used, telling.used)))


def _lines(
    pattern: Pattern, scene: Scene, telling: Renderer, rng: random.Random
) -> tuple[list[str], list[tuple[int, ...]]]:
    lines: list[str] = []
    all_needs: list[tuple[int, ...]] = []
    made: dict[str, list[tuple[dict[str, int], int]]] = {}
    steps = {step.label: step for step in pattern.steps}
    for step in pattern.steps:
        # One seed for all entries: alternatives are drawn once for each place in the pattern.
        seed = rng.getrandbits(32)
        made[step.label] = []
        for place in _places(step, scene):
            needs = sorted(_needs(step, place, steps, made))
            _check_direct(needs, all_needs)
            made[step.label].append((place, len(lines)))
            all_needs.append(tuple(needs))
            lines.append(_line(len(lines) + 1, step, telling, seed, place, needs))
    return lines, all_needs


def _places(step: StepPattern, scene: Scene) -> Iterator[dict[str, int]]:
    counts = [range(len(scene.values[name].entries)) for name in step.over]
    for indices in product(*counts):
        yield dict(zip(step.over, indices, strict=True))


def _needs(
    step: StepPattern,
    place: Mapping[str, int],
    steps: Mapping[str, StepPattern],
    made: Mapping[str, list[tuple[dict[str, int], int]]],
) -> Iterator[int]:
    link = step.over[-1] if step.chained else ""
    later = bool(link) and place[link] > 0
    if later:
        before = {**place, link: place[link] - 1}
        yield from (index for other, index in made[step.label] if other == before)
    for label in step.needs:
        if later and link not in steps[label].over:
            continue
        yield from _of_label(steps[label], place, made[label])


def _of_label(
    needed: StepPattern, place: Mapping[str, int], made: list[tuple[dict[str, int], int]]
) -> Iterator[int]:
    """Yield the steps of a label that agree with a place; of a whole chain only the last."""
    end = needed.over[-1] if needed.chained and needed.over[-1] not in place else ""
    last = max((other[end] for other, _ in made), default=0) if end else 0
    for other, index in made:
        agrees = all(place.get(name, at) == at for name, at in other.items())
        if agrees and (not end or other[end] == last):
            yield index


def _check_direct(needs: list[int], all_needs: list[tuple[int, ...]]) -> None:
    for need in needs:
        if twice := set(needs).intersection(all_needs[need]):
            number, through = len(all_needs) + 1, min(twice) + 1
            raise MisfitError(
                f"step {number} needs {need + 1} and {through}, which {need + 1} needs"
            )


def _line(
    number: int,
    step: StepPattern,
    telling: Renderer,
    seed: int,
    place: Mapping[str, int],
    needs: list[int],
) -> str:
    rng = seeded(seed)
    later = step.chained and place[step.over[-1]] > 0
    agent = telling.write(step.agent, rng, place).plain()
    prompt = telling.write(step.later if later else step.prompt, rng, place).plain()
    if problem := name_problem(agent) or prompt_problem(prompt):
        raise MisfitError(f"line {step.line}: {problem}")
    said = ", ".join(str(need + 1) for need in needs)
    return f"{number}. {agent}: {prompt}{f' (needs {said})' if said else ''}"
