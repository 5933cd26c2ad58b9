"""A family of jobs: what is asked, and how often whom what succeeds. Pure.

The rates of a seed are known to the scripted models alone. The memory sees what follows from them:
which attempts passed the gate, by whom, on which tier, and in how many seconds.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass

from prefect_swarm.plan.task_ir import TIERS, Tier

__all__ = [
    "DRIFT",
    "JOBS",
    "KINDS",
    "PERSONAS",
    "USES",
    "Asked",
    "Job",
    "KindRates",
    "asked_in",
    "chance",
    "kind_of",
    "rates_of",
]

USES, DRIFT = 70, 50
"""Uses in a row, and the number of those before the drift."""
PERSONAS = (
    "Ledger Clerk",
    "Archive Keeper",
    "Field Surveyor",
    "Quality Officer",
    "Branch Steward",
    "Figures Broker",
)
KINDS: Mapping[str, str] = {
    "invoices": "Total the unpaid supplier invoices of {place} for {month}.",
    "mileage": "Add up the mileage of the delivery vans based in {place} during {month}.",
    "stock": "Count the pallets in the warehouse of {place} at the end of {month}.",
    "wages": "Work out the wages of the night shift in {place} for {month}.",
    "energy": "Read the electricity meters of {place} and state the consumption in {month}.",
    "complaints": "Tally the complaints that customers in {place} sent in {month}.",
    "rent": "Reckon the rent and the service charges of the premises in {place} for {month}.",
    "statement": "Draw up the closing statement of {place} for {month} from all figures so far.",
}
"""What a step of each kind is asked for."""
_GOOD, _OTHERS = (0.70, 0.85), (0.40, 0.60)
_STEP_UP = (0.10, 0.18)
_MOST = 0.97
_SECONDS, _READS, _WRITES = (4.0, 40.0), (3_000, 6_000), (500, 1_200)
_TRAPS = _STUBBORN = _CHANGED = 3
GUESSED, AGAIN = 0.5, 0.5
"""How often a form is guessed that nothing in the prompt names, and by what a rate is multiplied
where the same persona on the same tier has just failed on a step of a stubborn kind."""
_PLACES = ("Avon", "Bredon", "Corley", "Dunwick", "Elstow", "Farley", "Grafton", "Hexham", "Ilston")
_MONTHS = ("January", "March", "April", "June", "July", "September", "October", "December")


@dataclass(frozen=True, slots=True)
class Job:
    """A kind of objective.

    Attributes:
        parts: The kinds of its steps.
        needs: For each step the numbers of those that it really needs, from 0.
    """

    objective: str
    parts: tuple[str, ...]
    needs: tuple[tuple[int, ...], ...]


JOBS = (
    Job(
        "Close the books of the branch in {place} for {month}: invoices, wages, rent, stock and "
        "energy, with one closing statement",
        ("invoices", "wages", "rent", "stock", "energy", "statement"),
        ((), (), (), (), (), (0, 1, 2, 3, 4)),
    ),
    Job(
        "What did deliveries from {place} cost in {month}? Vans and mileage, the pallets, wages, "
        "supplier invoices, complaints, and a closing statement",
        ("mileage", "stock", "wages", "invoices", "complaints", "statement"),
        ((), (), (), (1,), (0,), (0, 1, 2, 3, 4)),
    ),
    Job(
        "Compare what the premises in {place} took in {month}: rent, electricity meters, "
        "warehouse pallets, wages of the night shift, complaints, vans; one closing statement",
        ("rent", "energy", "stock", "wages", "complaints", "mileage", "statement"),
        ((), (), (), (2,), (), (2,), (0, 1, 2, 3, 4, 5)),
    ),
    Job(
        "Answer the auditors about {place} in {month}: unpaid invoices, service charges and rent, "
        "mileage, consumption, stock, wages and complaints in one closing statement",
        (*("invoices", "rent", "mileage", "energy", "stock", "wages"), "complaints", "statement"),
        ((), (), (), (1,), (), (4,), (2,), (0, 1, 2, 3, 4, 5, 6)),
    ),
)


@dataclass(frozen=True, slots=True)
class KindRates:
    """What is true of a kind of step.

    Attributes:
        rates: How often a persona succeeds on the cheapest tier, 0 to 1.
        bonus: What each tier adds to that.
        form: What the house wants to see in the result; "" if the kind has no such trap.
        stubborn: Whether who has failed fails again more often.
        seconds: Virtual seconds of an attempt on the cheapest tier.
        reads, writes: Tokens of an attempt, besides what is really in its prompt.
    """

    rates: Mapping[str, float]
    bonus: Mapping[Tier, float]
    form: str
    stubborn: bool
    seconds: float
    reads: int
    writes: int

    def rate(self, persona: str, tier: Tier, *, failed_here: bool = False) -> float:
        """How often an attempt of theirs succeeds that knows the form."""
        rate = min(_MOST, self.rates[persona] + self.bonus[tier])
        return rate * AGAIN if failed_here and self.stubborn else rate


def rates_of(seed: int, *, drifted: bool = False) -> dict[str, KindRates]:
    """Draw a seed's world; some kinds have another best persona and other tiers after the drift."""
    dice = random.Random(f"world {seed}")
    traps, stubborn = dice.sample([*KINDS], _TRAPS), dice.sample([*KINDS], _STUBBORN)
    changed = dice.sample([*KINDS], _CHANGED)
    found: dict[str, KindRates] = {}
    for kind in KINDS:
        first, later = _people(dice), _people(dice)
        bonuses = _bonus(dice), _bonus(dice)
        moved = drifted and kind in changed
        good = max(later, key=lambda name: later[name])
        if good == max(first, key=lambda name: first[name]):
            names = [*later]
            later = {name: later[names[n - 1]] for n, name in enumerate(names)}
        low, high = _SECONDS
        found[kind] = KindRates(
            rates=later if moved else first,
            bonus=bonuses[1 if moved else 0],
            form=f"{kind[:3].upper()}/{dice.randint(2, 9)}" if kind in traps else "",
            stubborn=kind in stubborn,
            seconds=low * (high / low) ** dice.random(),
            reads=dice.randint(*_READS),
            writes=dice.randint(*_WRITES),
        )
    return found


def _people(dice: random.Random) -> dict[str, float]:
    good = dice.sample(PERSONAS, dice.choice((1, 2)))
    return {name: dice.uniform(*(_GOOD if name in good else _OTHERS)) for name in PERSONAS}


def _bonus(dice: random.Random) -> dict[Tier, float]:
    coder = dice.uniform(*_STEP_UP)
    return dict(zip(TIERS, (0.0, coder, coder + dice.uniform(*_STEP_UP)), strict=True))


@dataclass(frozen=True, slots=True)
class Asked:
    """A use: the job, the objective, each step's prompt, and whom the planner takes for each.

    Attributes:
        is_good: Whether the planner itself sees which steps need each other.
    """

    number: int
    job: Job
    objective: str
    prompts: tuple[str, ...]
    agents: tuple[str, ...]
    is_good: bool


GOOD_PLANS = 0.25
"""How often the planner sees by itself which steps need each other."""


def asked_in(seed: int, number: int) -> Asked:
    """Draw a use, by its number from 1. The planner knows nothing of the rates."""
    dice = random.Random(f"use {seed} {number}")
    job = dice.choice(JOBS)
    names = {"place": dice.choice(_PLACES), "month": dice.choice(_MONTHS)}
    prompts = tuple(
        f"{KINDS[kind].format(**names)} Figures: "
        f"{', '.join(str(dice.randint(10, 999)) for _ in range(3))}."
        for kind in job.parts
    )
    agents = tuple(dice.choice(PERSONAS) for _ in job.parts)
    is_good = dice.random() < GOOD_PLANS
    return Asked(number, job, job.objective.format(**names), prompts, agents, is_good)


def kind_of(text: str) -> str:
    """Return the kind of the step whose prompt stands first in a text; "" for none.

    What earlier runs have shown is quoted behind a step's own prompt.
    """
    heads = {kind: asked.partition("{")[0] for kind, asked in KINDS.items()}
    at = {kind: place for kind, head in heads.items() if (place := text.find(head)) >= 0}
    return min(at, key=lambda kind: at[kind], default="")


def chance(*key: object) -> float:
    """Draw from 0 to 1 by a key: arms that ask for the same get the same."""
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
