"""Torch computes what llama.cpp serves, with and without an adapter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from prefect_swarm.parl.train.base import Adapter, Base, load_base, new_adapter
from prefect_swarm.parl.train.batches import TokenizedExample, pack
from prefect_swarm.parl.train.checkpoints import write_adapter
from prefect_swarm.parl.train.model import Model
from random_lora import random_adapter

PROMPT, PLAN = 12, 20

Served = Callable[..., np.ndarray]


@pytest.fixture(scope="module")
def base(tiny: Path) -> Base:
    return load_base(tiny)


@pytest.fixture
def served(base: Base, served_logits: Served) -> Served:
    def served(example: TokenizedExample, adapter: Path | None = None) -> np.ndarray:
        tokens = [*example.prompt, *example.plan[:-1]]
        return served_logits(base.path, tokens, adapter)[len(example.prompt) - 1 :]

    return served


def example_of(base: Base, seed: int = 2, plan: int = PLAN) -> TokenizedExample:
    random = np.random.default_rng(seed)
    tokens = random.integers(3, len(base["token_embd"]), PROMPT + plan).tolist()
    return TokenizedExample(tuple(tokens[:PROMPT]), tuple(tokens[PROMPT:]))


def strong(base: Base) -> Adapter:
    """An adapter that changes a lot."""
    return random_adapter(base, seed=5, std=0.5)


def computed(base: Base, adapter: Adapter, *examples: TokenizedExample) -> np.ndarray:
    with torch.no_grad():
        return Model(base).logits(pack(examples), adapter).numpy()


def error(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max() / theirs.std())


def test_the_bare_model_is_the_one_served(base: Base, served: Served) -> None:
    example = example_of(base)
    ours = computed(base, new_adapter(base, 4, 8.0, 0), example)
    assert error(ours, served(example)) < 1e-3


def test_an_exported_adapter_is_the_one_trained(base: Base, served: Served, tmp_path: Path) -> None:
    adapter, example = strong(base), example_of(base)
    write_adapter(adapter, tmp_path / "a.gguf", {"name": "Test"})
    ours = computed(base, adapter, example)
    assert error(ours, served(example)) > 1
    # The file has 16 bits.
    assert error(ours, served(example, tmp_path / "a.gguf")) < 2e-2


@pytest.mark.parametrize("matrix", ["attn_q", "attn_k"])
def test_rows_in_another_order_would_be_noticed(
    matrix: str, base: Base, served: Served, tmp_path: Path
) -> None:
    adapter, example, head = strong(base), example_of(base), base.shape.head
    # As other formats have them: the two numbers that are turned together, half a head apart.
    b = {
        name: rows.view(-1, head // 2, 2, 4).transpose(1, 2).reshape(-1, 4)
        if name.endswith(matrix)
        else rows
        for name, rows in adapter.b.items()
    }
    write_adapter(Adapter(4, 8.0, adapter.a, b), tmp_path / "a.gguf", {"name": "Test"})
    ours = computed(base, adapter, example)
    assert error(ours, served(example, tmp_path / "a.gguf")) > 0.2


def test_an_example_is_computed_the_same_in_company(base: Base) -> None:
    first, second = example_of(base), example_of(base, seed=3, plan=7)
    second = TokenizedExample((*first.prompt[:8], *second.prompt[8:]), second.plan)
    third = TokenizedExample((*first.prompt[:8], 5, 6), second.plan[:3])
    adapter = strong(base)
    together = computed(base, adapter, first, second, third)
    alone = np.concatenate([computed(base, adapter, tokens) for tokens in (first, second, third)])
    np.testing.assert_allclose(together, alone, atol=1e-3)


def test_the_loss_is_the_cross_entropy_of_the_plans(base: Base) -> None:
    batch, adapter = pack([example_of(base), example_of(base, seed=3)]), strong(base)
    model = Model(base)
    plain = torch.nn.functional.cross_entropy(model.logits(batch, adapter), batch.targets)
    torch.testing.assert_close(model.loss(batch, adapter), plain)


@pytest.mark.parametrize("short", [512, 0])
def test_in_16_bits_long_and_short_examples_are_as_served(
    short: int, base: Base, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefect_swarm.parl.train.model._SHORT", short)
    example, adapter = example_of(base), new_adapter(base, 4, 8.0, 0)
    with torch.no_grad():
        ours = Model(base, torch.bfloat16).logits(pack([example]), adapter).float().numpy()
    theirs = served(example)
    # On average: this model's large weights make some differences large.
    assert 1e-3 < float(np.abs(ours - theirs).mean() / theirs.std()) < 0.1


def test_gradients_are_those_of_the_loss(base: Base) -> None:
    """Every operation with a backward of its own, against differences of the loss in 64 bits."""
    weights = {name: weight.double() for name, weight in base.weights.items()}
    model = Model(Base(base.path, base.sha256, base.shape, weights))
    a, b = (
        {name: matrix.detach().double().requires_grad_() for name, matrix in matrices.items()}
        for matrices in (strong(base).a, strong(base).b)
    )
    adapter = Adapter(4, 8.0, a, b)
    batch = pack([example_of(base), TokenizedExample(example_of(base).prompt[:6], (7, 8, 9))])
    model.loss(batch, adapter).backward()
    for name, matrix in [*a.items(), *b.items()]:
        assert matrix.grad is not None
        way, step = matrix.grad / matrix.grad.norm(), 1e-6
        with torch.no_grad():
            matrix.add_(way, alpha=step)
            above = float(model.loss(batch, adapter))
            matrix.sub_(way, alpha=2 * step)
            below = float(model.loss(batch, adapter))
            matrix.add_(way, alpha=step)
        slope = float(matrix.grad.norm())
        assert (above - below) / (2 * step) == pytest.approx(slope, rel=1e-4), name
