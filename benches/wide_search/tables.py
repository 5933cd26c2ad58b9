"""The tables that follow from what the runs came to. Pure, but for `measured_section`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

__all__ = ["Cell", "beaten", "cells_of", "measured_section", "section_of"]

sys.path.append(str(Path(__file__).parents[1]))

from own_prefect import run_with_prefect

from .arms import SLOTS
from .corpus import OPEN_S, SEARCH_S
from .measure import FLAWED, MODELS, SEED, TRIALS, VARIANTS
from .player import ANSWER_S, READ_S, USD, WRITTEN_S
from .scoring import Score, avg_at, max_at
from .world import make_world

ALONE = "one agent"
FASTER, BETTER = 4.5, 6.0
"""How many times shorter a run is to be, and by how many points of item F1 better."""
_NAMES = ("for each", "for each, 8 calls an answer", "turns", "turns and a warm memory")
"""The arms that the goals are for."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What an arm comes to on a question with a model: the mean of its trials, and their best."""

    model: str
    arm: str
    question: str
    score: Score
    best: Score
    seconds: float
    usd: float
    tokens: float
    requests: float

    @property
    def shape(self) -> str:
        """The shape of the question."""
        return self.question.partition("-")[0]


def cells_of(rows: Iterable[dict[str, Any]]) -> list[Cell]:
    """Return the cells that runs come to, each with all trials of its own."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["model"], row["arm"], row["question"]), []).append(row)
    return [_cell(*name, trials) for name, trials in found.items()]


def _cell(model: str, arm: str, question: str, trials: Sequence[dict[str, Any]]) -> Cell:
    scores = [Score(**trial["score"]) for trial in trials]
    figures = (
        fmean(trial[name] for trial in trials) for name in ("seconds", "usd", "tokens", "requests")
    )
    return Cell(model, arm, question, avg_at(scores), max_at(scores), *figures)


def beaten(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that cost more than one agent on the same question and score lower."""
    alone = {(cell.model, cell.question): cell for cell in cells if cell.arm == ALONE}
    return [
        cell
        for cell in cells
        if cell.usd > (one := alone[cell.model, cell.question]).usd
        and cell.score.item_f1 < one.score.item_f1 - 1e-9
    ]


def section_of(cells: Sequence[Cell]) -> str:
    """Return the section of the page of benchmarks."""
    return "\n\n".join(
        [
            _HEAD,
            *(_totals(cells, model) for model in MODELS if model not in VARIANTS),
            _BY_SHAPE,
            *(_by_shape(cells, model) for model in MODELS if model not in VARIANTS),
            _goals(cells),
            _VARIANTS,
            *(_totals(cells, model) for model in VARIANTS),
        ]
    )


def measured_section() -> str:
    """Measure with each model, and return the section."""
    script = str(Path(__file__).with_name("measure.py"))
    lines = [line for model in MODELS for line in run_with_prefect(script, model).splitlines()]
    return section_of(cells_of(map(json.loads, lines)))


def _arms(cells: Sequence[Cell], model: str) -> dict[str, list[Cell]]:
    arms: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.model == model:
            arms.setdefault(cell.arm, []).append(cell)
    return arms


def _totals(cells: Sequence[Cell], model: str) -> str:
    arms = _arms(cells, model)
    one = arms[ALONE]
    trials = len(MODELS[model])
    best = f" | Max@{trials}" if trials > 1 else ""
    head = (
        f"| {model.capitalize()} | Item F1 | Row F1 | Success{best} | Makespan | ÷ alone | Dollars "
        "| ÷ alone | Tokens | Requests |"
    )
    rule = "|---|" + "---:|" * (head.count("|") - 2)
    rows = [_total(name, own, one, with_best=trials > 1) for name, own in arms.items()]
    return "\n".join([head, rule, *rows])


def _total(name: str, own: Sequence[Cell], one: Sequence[Cell], *, with_best: bool) -> str:
    seconds, usd = _sum(own, lambda cell: cell.seconds), _sum(own, lambda cell: cell.usd)
    score = avg_at([cell.score for cell in own])
    best = [f"{100 * avg_at([cell.best for cell in own]).item_f1:.1f}"] if with_best else []
    figures = [
        f"{100 * score.item_f1:.1f}",
        f"{100 * score.row_f1:.1f}",
        f"{100 * score.success:.0f} %",
        *best,
        f"{seconds:,.0f} s",
        f"{seconds / _sum(one, lambda cell: cell.seconds):.2f}",
        f"{usd:.2f}",
        f"{usd / _sum(one, lambda cell: cell.usd):.2f}",
        f"{_sum(own, lambda cell: cell.tokens):,.0f}",
        f"{_sum(own, lambda cell: cell.requests):,.0f}",
    ]
    return f"| {name} | {' | '.join(figures)} |"


def _sum(cells: Iterable[Cell], figure: Callable[[Cell], float]) -> float:
    return sum(map(figure, cells))


def _by_shape(cells: Sequence[Cell], model: str) -> str:
    questions = list(dict.fromkeys(cell.question for cell in cells))
    head = f"| {model.capitalize()} | {' | '.join(questions)} |"
    rule = f"|---|{'---|' * len(questions)}"
    rows = [
        f"| {name} | {' | '.join(map(_figures, own))} |"
        for name, own in _arms(cells, model).items()
    ]
    return "\n".join([head, rule, *rows])


def _figures(cell: Cell) -> str:
    return f"{100 * cell.score.item_f1:.0f} · {cell.seconds:,.0f} s · {100 * cell.usd:.1f} ¢"


def _goals(cells: Sequence[Cell]) -> str:
    lines: list[str] = []
    for name in _NAMES:
        oracle, one = (_arms(cells, "oracle")[arm] for arm in (name, ALONE))
        faster = _sum(one, lambda c: c.seconds) / _sum(oracle, lambda c: c.seconds)
        same = avg_at([c.score for c in oracle]).item_f1 >= avg_at([c.score for c in one]).item_f1
        flawed, lone = (_arms(cells, "flawed")[arm] for arm in (name, ALONE))
        points = 100 * (
            avg_at([c.score for c in flawed]).item_f1 - avg_at([c.score for c in lone]).item_f1
        )
        cost = _sum(flawed, lambda c: c.usd) / _sum(lone, lambda c: c.usd)
        lines.append(
            f"| {name} | {_bold(f'{faster:.2f} ×', faster >= FASTER and same)} "
            f"| {_bold(f'{points:+.1f}', points >= BETTER)} | {_bold(f'{cost:.2f}', cost <= 1)} |"
        )
    worse = beaten(cells)
    named = ", ".join(
        f"{cell.arm} on {cell.question} ({cell.model})" for cell in worse if cell.arm in _NAMES
    )
    compared = sum(cell.arm != ALONE for cell in cells)
    among = f" Of these arms: {named}." if named else " None is of these arms."
    return "\n".join(
        [
            "| Beside one agent | Oracle, makespan (goal: 4.5 × less) | Flawed, points of item F1 "
            "(goal: +6) | Flawed, dollars ÷ alone (goal: 1) |",
            "|---|---:|---:|---:|",
            *lines,
            "",
            f"Cells that cost more than one agent and score lower: {len(worse)} of {compared} "
            f"(goal: none).{among}",
        ]
    )


def _bold(figure: str, is_met: bool) -> str:
    return figure if is_met else f"**{figure}**"


_HEAD = f"""\
## Wide search

When is a swarm better than one agent, and when is it worse? A seed makes a corpus of
{len(make_world(SEED).pages):,} pages on invented works, people and towns. A work's values are
spread over pages; pages of several years contradict each other, and the newest counts; some values
stand nowhere; a director's birthplace can be looked for only after the director was found. The
answer to each of eight questions is a table: *wide* ones have 40 rows of 5 columns, *deep* ones
follow up to three pages one after another (6 rows, and 1), *mixed* ones are both, *narrow* ones are
answered by one or two pages. Tables are scored as WideSearch scores them.
[When a swarm pays](../background/when-a-swarm-pays.md) says what follows.

All of it goes through the whole runtime and a real Prefect server, in virtual time: a search takes
{SEARCH_S:g} s, opening a page {OPEN_S:g} s, an answer {ANSWER_S:g} s, {1 / WRITTEN_S:.0f} tokens a
second that it writes and {1 / READ_S:,.0f} that it reads anew; {SLOTS} requests at once. So the
results repeat exactly. A model is a script, the same for all arms; the orchestrator's plan and
turns are paid for, as all else: {USD["read"]:g} dollars a million tokens that are read,
{USD["cached"]:g} for those that the conversation has read before, {USD["written"]:g} for those
written. The *oracle* reads perfectly. The *flawed* model knows the newest {FLAWED.context:,} tokens
of a conversation, misreads {FLAWED.misreads:.0%} of the cells, and miscopies
{FLAWED.miscopies:.1%} of those of a table that it writes once more. It tires: at its nth request it
stops with a probability of {FLAWED.tires:g} n. That was set such that one agent comes near the 72.7
that Kimi K2.5's report has for one agent on WideSearch, on the wide and mixed questions. It has
{TRIALS} trials: scores are Avg@{TRIALS}, the best of each question is Max@{TRIALS}. Makespan,
dollars, tokens and requests are sums over the questions."""

_VARIANTS = f"""\
What of it is due to how soon the flawed model tires? The *tireless* one never does. The *weary* one
stops with a probability of {MODELS["weary"][0].tires:g} n, with which one agent comes near 72.7 on
all eight questions, and not on the wide and mixed ones alone. All else is as before."""

_BY_SHAPE = "Item F1, makespan and cents of each question:"
