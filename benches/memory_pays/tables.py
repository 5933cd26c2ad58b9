"""The tables that follow from what the uses came to. Pure, but for `measured_section`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import Any

__all__ = ["SEEDS", "Uses", "measured_section", "recovered", "section_of", "uses_of"]

sys.path.append(str(Path(__file__).parents[1]))

from own_prefect import run_with_prefect

from .arms import ALL, ARMS, OFF
from .family import DRIFT, GOOD_PLANS, JOBS, KINDS, PERSONAS, USES
from .player import MODELS, ORCHESTRATOR

SEEDS = (4, 5, 6)
WHOLE_SEED, WHOLE_USES = SEEDS[0], 20
"""The worlds of the short way, and the one whose first uses the whole product does as well."""
SPANS = ((1, 10), (11, 20), (21, 29), (30, 50), (51, 60), (61, 70))
LATE = SPANS[3]
GOALS = {"attempts": 0.80, "usd": 0.85, "makespan_s": 1.0}
"""What each figure is to be at most from use 30 on, of that without a memory."""
BACK, AS_BEFORE, WINDOW = 15, 1.1, 5
FIGURES = {"attempts": "attempts", "usd": "cost", "makespan_s": "makespan", "depth": "longest path"}
DECIDED = {
    "personas": "steps given to another persona",
    "raised": "steps begun on a higher tier",
    "lessons": "steps shown lessons",
    "mitigations": "actions by memory",
    "examples": "repairs shown",
    "plans": "earlier plans shown",
}

Uses = Mapping[tuple[int, int], Mapping[str, Any]]
"""What each use came to, by seed and number."""


def uses_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[tuple[int, int], Any]]:
    """Return the uses of each arm."""
    found: dict[str, dict[tuple[int, int], Any]] = {}
    for row in rows:
        found.setdefault(row["arm"], {})[row["seed"], row["use"]] = row
    return found


def ratio(uses: Uses, base: Uses, figure: str, span: tuple[int, int]) -> float:
    """Return what the uses of a span take, of what the same ones take in another arm."""
    keys = [key for key in uses if span[0] <= key[1] <= span[1] and key in base]
    below = sum(base[key][figure] for key in keys)
    return sum(uses[key][figure] for key in keys) / below if below else float("nan")


def recovered(uses: Uses, base: Uses, figure: str = "attempts") -> int | None:
    """Return the uses after the drift until a figure is what it was, of that without a memory.

    It is what it was if over `WINDOW` uses it is no more than 10 % above that of the last `LATE`
    uses before the drift. None if it never is.
    """
    before = ratio(uses, base, figure, LATE)
    for end in range(DRIFT + WINDOW, USES + 1):
        if ratio(uses, base, figure, (end - WINDOW + 1, end)) <= AS_BEFORE * before:
            return end - DRIFT
    return None


def section_of(
    whole: Mapping[str, Uses], short: Mapping[str, Uses], seeds: Sequence[int] = SEEDS
) -> str:
    """Return the section of the page of benchmarks."""
    names = ", ".join(map(str, seeds))
    return "\n\n".join(
        [
            _HEAD,
            _SHORT.format(seeds=names),
            _agreement(whole, short),
            _over_time(short[ALL], short[OFF]),
            _goals(short),
            _ABLATION,
            _ablation(short),
            _DECISIONS,
            _decisions(short),
        ]
    )


def measured_section() -> str:
    """Measure all arms, and return the section."""
    script = str(Path(__file__).with_name("measure.py"))

    def rows(way: str, arms: Sequence[str], seeds: Sequence[int], uses: int) -> list[Any]:
        names = ",".join(map(str, seeds))
        printed = run_with_prefect(script, way, ",".join(arms), names, str(uses))
        return [json.loads(line) for line in printed.splitlines()]

    def rows_of_whole(arm: str) -> list[Any]:
        return rows("whole", [arm], [WHOLE_SEED], WHOLE_USES)

    def rows_of_short(arms: Sequence[str]) -> list[Any]:
        return rows("short", arms, SEEDS, USES)

    # What a process imports takes as long as a world, so that one plays several arms.
    with ThreadPoolExecutor(2) as pool:
        whole = [*pool.map(rows_of_whole, (OFF, ALL))]
        short = [*pool.map(rows_of_short, (ARMS[::2], ARMS[1::2]))]
    return section_of(
        uses_of(row for found in whole for row in found),
        uses_of(row for found in short for row in found),
    )


def _agreement(whole: Mapping[str, Uses], short: Mapping[str, Uses]) -> str:
    """Say how often both ways come to the same."""
    head = ["the whole product beside the short way", "uses", "same attempts", "same plan"]
    head += ["attempts, whole ÷ short", "cost", "makespan"]
    rows: list[list[str]] = []
    for arm, uses in whole.items():
        pairs = [(row, short[arm][key]) for key, row in uses.items() if key in short[arm]]
        same = (sum(a[name] == b[name] for a, b in pairs) for name in ("attempts", "depth"))
        ratios = (ratio(uses, short[arm], name, (1, USES)) for name in [*FIGURES][:3])
        rows.append([arm, str(len(pairs)), *map(str, same), *(f"{value:.2f}" for value in ratios)])
    return _table([head, *rows])


def _over_time(uses: Uses, base: Uses) -> str:
    head = ["with memory ÷ without", *(f"uses {low}–{high}" for low, high in SPANS)]
    rows = [[name, *_ratios(uses, base, figure)] for figure, name in FIGURES.items()]
    failed = [[*_failed(name, each)] for name, each in (("with memory", uses), ("without", base))]
    return _table([head, *rows, *failed])


def _ratios(uses: Uses, base: Uses, figure: str) -> list[str]:
    found = ((ratio(uses, base, figure, span), span) for span in SPANS)
    return [
        f"**{value:.2f}**"
        if span == LATE and value > GOALS.get(figure, float("inf"))
        else _two(value)
        for value, span in found
    ]


def _two(value: float) -> str:
    return "" if isnan(value) else f"{value:.2f}"


def _failed(name: str, uses: Uses) -> Iterable[str]:
    yield f"not completed, {name}"
    for low, high in SPANS:
        here = [row for (_, number), row in uses.items() if low <= number <= high]
        yield f"{sum(row['status'] != 'completed' for row in here)} of {len(here)}"


def _goals(arms: Mapping[str, Uses]) -> str:
    back = recovered(arms[ALL], arms[OFF])
    return (
        f"Goals, from use {LATE[0]} on: attempts at most {GOALS['attempts']:.2f}, cost at most "
        f"{GOALS['usd']:.2f}, a shorter makespan; after the drift, which comes after use {DRIFT}, "
        f"attempts are to be within 10 % of what they were before in {BACK} uses. "
        + (f"They are after {back}." if back else "**They aren't.**")
    )


def _ablation(arms: Mapping[str, Uses]) -> str:
    head = ["÷ all on, uses 11–50", "uses", *FIGURES.values(), "attempts, uses 51–70"]
    rows = [
        [
            name,
            str(sum(10 < number <= DRIFT and (seed, number) in arms[ALL] for seed, number in uses)),
            *(_two(ratio(uses, arms[ALL], figure, (11, DRIFT))) for figure in FIGURES),
            _two(ratio(uses, arms[ALL], "attempts", (DRIFT + 1, USES))),
        ]
        for name, uses in arms.items()
        if name != ALL
    ]
    return _table([head, *rows])


def _decisions(arms: Mapping[str, Uses]) -> str:
    late = [row for (_, number), row in arms[ALL].items() if LATE[0] <= number <= LATE[1]]
    rows = [[name, f"{fmean(row[key] for row in late):.2f}"] for key, name in DECIDED.items()]
    return _table([["a use, uses 30–50", "all on"], *rows])


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *others = rows
    rule = f"|---|{'--:|' * (len(head) - 1)}"
    first, *more = (f"| {' | '.join(row)} |" for row in [head, *others])
    return "\n".join([first, rule, *more])


_PRICES = ", ".join(MODELS.values())
_HEAD = f"""\
## Memory: does it pay?

Does a memory make a swarm cheaper where personas, tiers, forms and plans truly differ? {USES} uses
in a row, with a memory that is empty at first, and beside it without one. **All models are
scripts**, with the prices of {_PRICES}; the orchestrator's is {ORCHESTRATOR}. Seconds are virtual.

A use is one of {len(JOBS)} jobs of 6 to 8 steps, about another place and month. A step is of one of
{len(KINDS)} kinds. The planner gives each step to one of the house's {len(PERSONAS)} personas,
drawn anew, on the cheapest tier. It follows the first earlier plan that it is shown, if that one
was completed and is for this job; else it sees in {GOOD_PLANS:.0%} of the uses which steps need
each other, and writes a chain in the others. Three attempts run together. A gate holds each result
against the figures in the prompt.

The rates are drawn by seed, and were fixed before any figure was seen. For each kind one or two
personas succeed in 0.70 to 0.85 of the attempts on the cheapest tier and the others in 0.40 to
0.60; each tier above adds 0.10 to 0.18. Three kinds have a form that the house wants: a model
guesses it in half of the attempts, and knows it where the prompt shows it. Three kinds are
stubborn: who has failed succeeds half as often in the next attempt on the same tier. An attempt
takes 4 to 40 s, by its kind. After use {DRIFT} three kinds have another best persona and other
tiers. The same try at the same step has the same luck in each arm."""
_SHORT = """\
The whole product, `swarm()` on a Prefect server, does the first uses of one world. The *short way*
does the same and all others in a fraction of the time: the product's own recall, compilation,
failure router, memory and learning, without the flow and the task runs that carry them out. The
tables below are by the short way, of the worlds of seed {seeds}, of which none was looked at before
the memory was done. Figures of one world are uncertain by some per cent."""
_ABLATION = """\
Mechanisms switched off, one at a time, in the same worlds and uses. Above 1.00 the mechanism saves,
below it costs."""
_DECISIONS = """\
What the memory decided:"""
