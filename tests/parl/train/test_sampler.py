"""Plans are written by the model that is trained, as it is then."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from prefect_swarm.parl.train import model as module
from prefect_swarm.parl.train.base import Adapter, Base, load_base
from prefect_swarm.parl.train.batches import TokenizedExample, pack
from prefect_swarm.parl.train.model import Model, Writer
from random_lora import random_adapter

PROMPTS = [(5, 6, 7, 8), (5, 6, 9), (5, 6, 7, 30, 31, 32, 33)]
NONE = -1


@pytest.fixture(scope="module")
def base(tiny: Path) -> Base:
    return load_base(tiny)


@pytest.fixture(scope="module")
def model(base: Base) -> Model:
    return Model(base)


@pytest.fixture(scope="module")
def adapter(base: Base) -> Adapter:
    return random_adapter(base, seed=5, std=0.5)


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def likeliest(model: Model, adapter: Adapter, prompt: tuple[int, ...], length: int) -> list[int]:
    """The likeliest continuation, computed from its beginning for each token."""
    plan: list[int] = []
    while len(plan) < length:
        with torch.no_grad():
            logits = model.logits(pack([TokenizedExample(prompt, (*plan, 0))]), adapter)
        plan.append(int(logits[-1].argmax()))
    return plan


@pytest.mark.parametrize("times", [1, 3])
def test_each_token_is_drawn_from_all_that_is_before_it(
    model: Model, adapter: Adapter, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LIKELIEST", 1)
    limits = [70, 3, 8]
    found = Writer(model, adapter).write(PROMPTS, limits, times, NONE, seeded())
    for prompt, limit, plans in zip(PROMPTS, limits, found, strict=True):
        assert plans == [tuple(likeliest(model, adapter, prompt, limit))] * times


def test_tokens_are_drawn_as_often_as_they_are_likely(model: Model, adapter: Adapter) -> None:
    prompt, draws = PROMPTS[0], 6000
    (plans,) = Writer(model, adapter).write([prompt], [1], draws, NONE, seeded())
    with torch.no_grad():
        odds = model.logits(pack([TokenizedExample(prompt, (0,))]), adapter)[0].softmax(0)
    found = torch.bincount(torch.tensor([token for (token,) in plans]), minlength=len(odds))
    left_out = float(odds.sort().values[:-40].sum())
    assert float((found / draws - odds).abs().sum()) < left_out + 0.1


def test_a_plan_ends_with_its_end_or_at_its_limit(model: Model, adapter: Adapter) -> None:
    end = likeliest(model, adapter, PROMPTS[0], 1)[0]
    limits = [4, 5, 6]
    found = Writer(model, adapter).write(PROMPTS, limits, 40, end, seeded())
    for limit, plans in zip(limits, found, strict=True):
        for plan in plans:
            assert end not in plan[:-1]
            assert plan[-1] == end or len(plan) == limit
    assert any(len(plan) < limits[0] for plan in found[0])


def test_a_seed_gives_the_same_plans(model: Model, adapter: Adapter) -> None:
    writer = Writer(model, adapter)
    first, same, other = (writer.write(PROMPTS, [9] * 3, 4, NONE, seeded(n)) for n in (1, 1, 2))
    assert first == same != other
