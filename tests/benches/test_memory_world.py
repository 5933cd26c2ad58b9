"""The learning bench: its world is what it says, and its sums are right."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "benches" / "memory"


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCH)
    return import_module("play")


@pytest.fixture
def world(play: Any) -> Any:
    return import_module("world")


def test_the_same_seed_plays_the_same(play: Any, world: Any) -> None:
    setting = world.Setting(steps=2)
    first, again = (play.play("memory", 7, setting, 30) for _ in range(2))
    assert first.tolist() == again.tolist()


def test_the_oracle_regrets_nothing(play: Any, world: Any) -> None:
    assert not play.play("oracle", 7, world.Setting(), 510).any()


def test_memory_regrets_less_than_the_rules(play: Any, world: Any) -> None:
    rules, memory = (
        play.regrets(name, range(2), world.Setting(), 120) for name in ("rules", "memory")
    )
    assert memory[:, 80:].mean() < 0.7 * rules[:, 80:].mean()


@pytest.mark.parametrize("structured", [True, False])
def test_rates_change_half_way_for_a_third_of_the_personas(world: Any, structured: bool) -> None:
    drawn = world.World(3, world.Setting(structured=structured))
    changed = (drawn.rates(world.DRIFT - 1) != drawn.rates(world.DRIFT)).any(axis=0)
    assert changed.sum() == world.PERSONAS // 3
    assert ((drawn.before > 0) & (drawn.before < 1)).all()


def test_prompts_of_a_type_are_alike_and_others_hardly(world: Any) -> None:
    drawn, rng = world.World(3, world.Setting()), np.random.default_rng(0)
    same = [drawn.prompt(0, rng) @ drawn.prompt(0, rng) for _ in range(20)]
    other = [
        drawn.prompt(0, rng) @ drawn.prompt(kind, rng)
        for kind in range(world.TYPES)
        if drawn.looks[kind] != drawn.looks[0]
    ]
    assert np.mean(same) > 0.7
    assert abs(np.mean(other)) < 0.1


def test_recovery_is_counted_in_runs_after_the_drift(play: Any) -> None:
    regret = np.concatenate([np.full(100, 0.1), np.full(60, 0.5), np.full(140, 0.1)])[None]
    assert play.recovered(regret, drift=100, window=50) == 109
    assert play.recovered(regret[:, :160], drift=100, window=50) is None


def test_who_is_told_the_skills_regrets_little_from_the_start(
    play: Any, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BENCH.parent)
    informed = import_module("informed")

    def make_player(world: Any, rng: np.random.Generator) -> Any:
        return informed.Informed(world, rng, "skills", 0.3)

    setting = world.Setting()
    assert (
        play.played(make_player, 7, setting, 15).mean()
        < 0.5 * play.play("rules", 7, setting, 15).mean()
    )


@pytest.mark.parametrize("informed_of", ["types", "who is alike", "skills"])
def test_an_outcome_moves_what_is_believed_of_the_pair_most(
    play: Any, world: Any, informed_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BENCH.parent)
    informed, players = import_module("informed"), import_module("players")
    player = informed.Informed(
        world.World(7, world.Setting()), np.random.default_rng(0), informed_of, 0.3
    )
    before, spread = player.mean.copy(), player.cov.diagonal().copy()
    player.learn(players.Asked(0, 0, 3, np.zeros(256)), 5, True)
    moved = player.mean - before
    assert moved.argmax() == 3 * world.PERSONAS + 5
    assert (player.cov.diagonal() <= spread + 1e-12).all()
