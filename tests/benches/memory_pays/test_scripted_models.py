"""The scripted models work by the rates, and the gate of the house catches what is wrong."""

from __future__ import annotations

import asyncio
from statistics import fmean

import pytest
from memory_pays.family import JOBS, asked_in, rates_of
from memory_pays.house import House, total_of
from memory_pays.player import Player, needs_followed, system_prompt
from prefect_swarm.gates import Subject
from prefect_swarm.plan.task_ir import Tier
from wide_search.virtual_time import VirtualClock

SEED = 2
WORLD = rates_of(SEED)
HOUSE = House({kind: rates.form for kind, rates in WORLD.items()})
TRAPPED = next(kind for kind, rates in WORLD.items() if rates.form)
PLAIN = next(kind for kind, rates in WORLD.items() if not rates.form)
NUMBERS = range(1, 1200)


def passed(prompt: str, text: str) -> bool:
    found = asyncio.run(HOUSE.check(Subject(artifact=text, prompt=prompt)))
    assert (found.category is None) == (found.status == "passed")
    return found.status == "passed"


def rate_of(kind: str, persona: str, tier: Tier = "worker", *, hint: str = "") -> float:
    """How often first attempts at a kind pass the gate."""
    player = Player(SEED, VirtualClock(), asked_in(SEED, 1), WORLD)
    outcomes: list[bool] = []
    for asked in (asked_in(SEED, number) for number in NUMBERS):
        if kind in asked.job.parts:
            player.begin(asked, WORLD)
            prompt = asked.prompts[asked.job.parts.index(kind)]
            answer = player.answer(tier, system_prompt(persona), f"{prompt}\n\n{hint}")
            outcomes.append(passed(prompt, answer.text))
    return fmean(outcomes)


def test_the_gate_passes_as_often_as_the_rates_say() -> None:
    rates = WORLD[PLAIN]
    assert rate_of(PLAIN, "Field Surveyor") == pytest.approx(
        rates.rates["Field Surveyor"], abs=0.05
    )
    higher = rates.rate("Field Surveyor", "architect")
    assert rate_of(PLAIN, "Field Surveyor", "architect") == pytest.approx(higher, abs=0.05)


def test_a_form_is_guessed_in_half_of_the_attempts_and_known_where_it_is_shown() -> None:
    rate = WORLD[TRAPPED].rates["Archive Keeper"]
    assert rate_of(TRAPPED, "Archive Keeper") == pytest.approx(rate / 2, abs=0.05)
    hint = f"“Form: {WORLD[TRAPPED].form}”"
    assert rate_of(TRAPPED, "Archive Keeper", hint=hint) == pytest.approx(rate, abs=0.05)


def test_the_gate_says_which_form_the_house_wants() -> None:
    prompt = next(
        prompt
        for asked in (asked_in(SEED, number) for number in NUMBERS)
        for kind, prompt in zip(asked.job.parts, asked.prompts, strict=True)
        if kind == TRAPPED
    )
    right = f"Total: {total_of(prompt)}"
    found = asyncio.run(HOUSE.check(Subject(artifact=right, prompt=prompt)))
    assert WORLD[TRAPPED].form in found.diagnostics[0].message
    assert passed(prompt, f"Form: {WORLD[TRAPPED].form}\n{right}")
    assert not passed(prompt, f"Form: {WORLD[TRAPPED].form}\n{right}0")


def test_the_same_try_has_the_same_luck() -> None:
    asked = asked_in(SEED, 4)

    def tries() -> list[str]:
        player = Player(SEED, VirtualClock(), asked, WORLD)
        prompt = asked.prompts[0]
        return [player.answer("worker", system_prompt("Ledger Clerk"), prompt).text] * 3

    assert tries() == tries()


def shown(status: str, job: int, needs: str) -> str:
    asked = next(asked for asked in (asked_in(SEED, n) for n in NUMBERS) if asked.job is JOBS[job])
    steps = [
        f"  S{number} “Ledger Clerk”: “{prompt}”{needs if number > 1 else ''} (3 s)"
        for number, prompt in enumerate(asked.prompts, 1)
    ]
    return "\n".join(["Earlier plans", f"- Objective “x” (run “1”): {status}, 9 s", *steps])


def test_the_planner_follows_what_went_well_and_is_for_the_same_job() -> None:
    asked = next(asked for asked in (asked_in(9, n) for n in NUMBERS) if asked.job is JOBS[0])
    assert needs_followed(shown("completed", 0, " <- S1"), asked) == [[], *[[0]] * 5]
    assert needs_followed(shown("partial", 0, " <- S1"), asked) is None
    assert needs_followed(shown("completed", 1, " <- S1"), asked) is None
    assert needs_followed("No earlier plan.", asked) is None


def test_a_step_that_needs_more_than_are_named_needs_all_before_it() -> None:
    asked = next(asked for asked in (asked_in(9, n) for n in NUMBERS) if asked.job is JOBS[3])
    found = needs_followed(shown("completed", 3, " <- S1, S2 and 5 more"), asked)
    assert found is not None
    assert found[-1] == [0, 1, 2, 3, 4, 5, 6]
