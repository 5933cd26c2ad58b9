"""Uses in a row of the whole product, in one arm and one world; a line of JSON for each use."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

# It is a script of its own as well: see `own_prefect`.
sys.path.append(str(Path(__file__).parents[1]))

import yaml
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.memory.personas import store as personas
from prefect_swarm.memory.personas.model import load_personas
from prefect_swarm.memory.store import close_stores, configured_place, open_store
from prefect_swarm.plan.task_ir import TIERS
from prefect_swarm.store.attempt import Decision
from prefect_swarm.store.failure_policy import Policy
from prefect_swarm.store.result import Recall
from wide_search.virtual_time import VirtualClock, run_in_virtual_time

from memory_pays.arms import OFF, switched_off
from memory_pays.family import DRIFT, PERSONAS, asked_in, rates_of
from memory_pays.house import NAME, House, register
from memory_pays.player import Player, system_prompt
from memory_pays.short_way import ShortWay

__all__ = ["SLOTS", "longest_path", "measure", "measure_shortly", "write_personas"]

SLOTS = 3
"""Attempts that may run together."""


def options_of(player: Player, arm: str, seed: int) -> SwarmOptions:
    """Return the options of every use."""
    models = player.models()
    return SwarmOptions(
        worker=models["worker"],
        coder=models["coder"],
        architect=models["architect"],
        orchestrator=models["orchestrator"],
        memory=arm != OFF,
        gates={"text": (NAME,)},
        max_concurrency=SLOTS,
        policy=Policy(replans=0),
        turns=1,
        seed=seed,
        pages=False,
        stream_plan=False,
    )


async def measure(arm: str, seed: int, uses: range, clock: VirtualClock) -> None:
    """Print what each use of the whole product comes to."""
    before, after = rates_of(seed), rates_of(seed, drifted=True)
    register(House({kind: rates.form for kind, rates in before.items()}))
    player = Player(seed, clock, asked_in(seed, 1), before)
    options = options_of(player, arm, seed)
    for number in uses:
        asked = asked_in(seed, number)
        player.begin(asked, before if number <= DRIFT else after)
        result = await swarm(asked.objective, options=options)
        attempts = [attempt for step in result.steps for attempt in step.attempts]
        _print(
            arm,
            seed,
            number,
            status=result.status,
            attempts=len(attempts),
            usd=result.cost.money_usd,
            makespan_s=result.metrics.makespan_s if result.metrics else None,
            plan=result.plan,
            attempt_tiers=[attempt.tier for attempt in attempts],
            recall=result.recall,
            decisions=[attempt.decision for attempt in attempts if attempt.decision],
            plans=len(result.planning.shown_runs) if result.planning else 0,
        )


def measure_shortly(arm: str, seed: int, uses: range) -> None:
    """Print what each use comes to by the product's decisions and memory alone."""
    before, after = rates_of(seed), rates_of(seed, drifted=True)
    house = House({kind: rates.form for kind, rates in before.items()})
    register(house)
    player = Player(seed, VirtualClock(), asked_in(seed, 1), before, is_timed=False)
    options = options_of(player, arm, seed)
    store = None if arm == OFF else open_store(configured_place())
    way = ShortWay(player, house, options, store, SLOTS)
    for number in uses:
        player.begin(asked_in(seed, number), before if number <= DRIFT else after)
        _print(arm, seed, number, **way.use())


def _print(
    arm: str,
    seed: int,
    number: int,
    *,
    plan: Any,
    attempt_tiers: Sequence[str],
    recall: Recall | None,
    decisions: Sequence[Decision],
    **figures: Any,
) -> None:
    """Print a use, and what the memory decided in it."""
    steps = recall.steps if recall else ()
    row: dict[str, Any] = {
        "arm": arm,
        "seed": seed,
        "use": number,
        **figures,
        "depth": longest_path(plan),
        "tiers": {tier: sum(name == tier for name in attempt_tiers) for tier in TIERS},
        "personas": sum(bool(step.instructions) for step in steps),
        "raised": sum(step.tier != "worker" for step in steps),
        "lessons": sum(bool(step.lesson) for step in steps),
        "mitigations": sum("by memory" in decision.rule for decision in decisions),
        "examples": sum(decision.example is not None for decision in decisions),
    }
    print(json.dumps(row), flush=True)
    print(arm, seed, number, f"{time.process_time():.1f}", file=sys.stderr)


def longest_path(plan: Any) -> int:
    """Return the number of steps on a plan's longest path."""
    longest: dict[str, int] = {}
    for step in plan.steps:
        longest[step.id] = 1 + max((longest[name] for name in step.depends_on), default=0)
    return max(longest.values(), default=0)


def write_personas(folder: Path) -> None:
    """Write the personas of the house, as a user has them."""
    folder.mkdir(parents=True)
    for title in PERSONAS:
        name = title.lower().replace(" ", "-")
        fields = {
            "name": name,
            "title": title,
            "version": 1,
            "task_types": ["*/text"],
            "instructions": system_prompt(title),
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(fields), encoding="utf-8")


def main(way: str, names: str, seeds: str, count: str) -> None:
    """Measure so many uses of some arms in some worlds, each with a memory that is empty at first.

    Args:
        way: `whole` for the whole product, `short` for its decisions and its memory alone.
        names: The arms, `memory on,without tiers`.
        seeds: The worlds, `1,2,3`.
    """
    logging.disable(logging.CRITICAL)

    def fsync(_: int) -> None:
        """Do without the disk: nothing here is killed, and its seconds don't count."""

    os.fsync = fsync
    uses = range(1, int(count) + 1)
    for seed, name in product(map(int, seeds.split(",")), names.split(",")):
        with fresh_home(), switched_off(name):
            if way == "short":
                # The files of the personas don't change; reading them is a third of the time.
                with patch.object(personas, "load_personas", cache(load_personas)):
                    measure_shortly(name, seed, uses)
            else:
                clock = VirtualClock()
                run_in_virtual_time(clock, partial(measure, name, seed, uses, clock))


@contextmanager
def fresh_home() -> Generator[None]:
    """Have runs, personas and the memory in a folder that is empty but for the house's personas."""
    with tempfile.TemporaryDirectory(prefix="memory-pays-", ignore_cleanup_errors=True) as folder:
        os.environ["PREFECT_INTEGRATIONS_SWARM_HOME"] = folder
        write_personas(Path(folder) / "personas")
        yield
        close_stores()


if __name__ == "__main__":
    main(*sys.argv[-4:])
