"""Expand a pattern into one objective and its plan."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from ....errors import InputError
from ..parsing.pattern import Pattern, StepPattern
from .draw import (
    ExampleChoices,
    draw_choices,
    name_problem,
    objective_problem,
    plan_problem,
    prompt_problem,
    seeded_random,
)
from .marked import MarkedText
from .render import Renderer

__all__ = ["Expansion", "MisfitError", "draw", "expand"]

_TRIES = 40


class MisfitError(ValueError):
    """A random draw breaks a limit; another draw of the pattern may fit."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """One example drawn from a pattern.

    Attributes:
        plan: The numbered lines.
        needs: For each step, the indices of the steps it needs.
        objective_variables: Names of the variables in the objective.
        plan_variables: Names of the variables in the plan.
    """

    objective: MarkedText
    plan: str
    needs: tuple[tuple[int, ...], ...]
    objective_variables: frozenset[str]
    plan_variables: frozenset[str]


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
    raise InputError(f"{pattern.location}: no draw of the pattern fits: {problem}.", fix)


def draw(pattern: Pattern, rng: random.Random) -> Expansion:
    """Draw once.

    Raises:
        MisfitError: The plan breaks a limit.
    """
    choices = draw_choices(pattern, rng)
    objective_renderer, plan_renderer = Renderer(choices), Renderer(choices)
    objective = objective_renderer.write(rng.choice(pattern.asks), rng)
    lines, needs = _write_plan(pattern, choices, plan_renderer, rng)
    plan = "\n".join(lines)
    if problem := objective_problem(objective.plain_text()) or plan_problem(
        plan, objective.plain_text()
    ):
        raise MisfitError(problem)
    return Expansion(
        objective,
        plan,
        tuple(needs),
        frozenset(objective_renderer.used_variables),
        frozenset(plan_renderer.used_variables),
    )


def _write_plan(
    pattern: Pattern, choices: ExampleChoices, plan_renderer: Renderer, rng: random.Random
) -> tuple[list[str], list[tuple[int, ...]]]:
    lines: list[str] = []
    all_needs: list[tuple[int, ...]] = []
    written: dict[str, list[tuple[dict[str, int], int]]] = {}
    steps = {step.label: step for step in pattern.steps}
    for step in pattern.steps:
        # One seed for all entries, so that they take the same alternatives.
        seed = rng.getrandbits(32)
        written[step.label] = []
        for place in _places(step, choices):
            needs = sorted(_needed_steps(step, place, steps, written))
            _check_needs_are_direct(needs, all_needs)
            written[step.label].append((place, len(lines)))
            all_needs.append(tuple(needs))
            lines.append(_write_line(len(lines) + 1, step, plan_renderer, seed, place, needs))
    return lines, all_needs


def _places(step: StepPattern, choices: ExampleChoices) -> Iterator[dict[str, int]]:
    counts = [range(len(choices.values[name].entries)) for name in step.loop_variables]
    for indices in product(*counts):
        yield dict(zip(step.loop_variables, indices, strict=True))


def _needed_steps(
    step: StepPattern,
    place: Mapping[str, int],
    steps: Mapping[str, StepPattern],
    written: Mapping[str, list[tuple[dict[str, int], int]]],
) -> Iterator[int]:
    link = step.loop_variables[-1] if step.is_chain else ""
    later = bool(link) and place[link] > 0
    if later:
        before = {**place, link: place[link] - 1}
        yield from (index for other, index in written[step.label] if other == before)
    for label in step.needs:
        if later and link not in steps[label].loop_variables:
            continue
        yield from _matching_steps(steps[label], place, written[label])


def _matching_steps(
    needed: StepPattern, place: Mapping[str, int], written: list[tuple[dict[str, int], int]]
) -> Iterator[int]:
    """Yield the steps of a label that share the place's entries; of a chain only its last step."""
    end = (
        needed.loop_variables[-1]
        if needed.is_chain and needed.loop_variables[-1] not in place
        else ""
    )
    last = max((other[end] for other, _ in written), default=0) if end else 0
    for other, index in written:
        agrees = all(place.get(name, entry) == entry for name, entry in other.items())
        if agrees and (not end or other[end] == last):
            yield index


def _check_needs_are_direct(needs: list[int], all_needs: list[tuple[int, ...]]) -> None:
    for need in needs:
        if indirect := set(needs).intersection(all_needs[need]):
            number, indirect_number = len(all_needs) + 1, min(indirect) + 1
            raise MisfitError(
                f"step {number} needs {need + 1} and {indirect_number}, which {need + 1} needs"
            )


def _write_line(
    number: int,
    step: StepPattern,
    plan_renderer: Renderer,
    seed: int,
    place: Mapping[str, int],
    needs: list[int],
) -> str:
    rng = seeded_random(seed)
    later = step.is_chain and place[step.loop_variables[-1]] > 0
    agent = plan_renderer.write(step.agent, rng, place).plain_text()
    prompt = plan_renderer.write(
        step.later_prompt if later else step.prompt, rng, place
    ).plain_text()
    if problem := name_problem(agent) or prompt_problem(prompt):
        raise MisfitError(f"line {step.line}: {problem}")
    needed = ", ".join(str(need + 1) for need in needs)
    return f"{number}. {agent}: {prompt}{f' (needs {needed})' if needed else ''}"
