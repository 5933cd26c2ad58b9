"""The embedded model, quantised: what is trained is what is served, and data become an adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from prefect_swarm.models.llama.gguf import demo_model_path, planner_adapter
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.parl.train import Practice, TrainConfig, export, train
from prefect_swarm.parl.train.base import Adapter, Base, load_base, new_adapter
from prefect_swarm.parl.train.batches import TokenizedExample, encode, pack
from prefect_swarm.parl.train.checkpoints import write_adapter
from prefect_swarm.parl.train.model import Model
from prefect_swarm.tasks.planner.conversation import PlanContext
from prefect_swarm.tasks.planner.task import planner_for
from random_lora import random_adapter

pytestmark = [pytest.mark.model, pytest.mark.slow]

Served = Callable[..., np.ndarray]

PAIRS = [
    (
        "Describe iron, gold and tin for a child",
        "1. Iron Expert: Describe iron for a child\n2. Gold Expert: Describe gold for a child\n"
        "3. Tin Expert: Describe tin for a child",
    ),
    (
        "Write a song about rain, then translate it into Greek",
        "1. Songwriter: Write a song about rain\n"
        "2. Translator: Translate the song about rain into Greek (needs 1)",
    ),
    ("How tall is the Eiffel Tower?", "1. Geographer: Say how tall the Eiffel Tower is"),
]


@dataclass(frozen=True)
class Likeness:
    """How alike two rows of logits are: mean KL divergence in nats, and share of equal choices."""

    divergence: float
    agreement: float


def likeness(ours: np.ndarray, theirs: np.ndarray) -> Likeness:
    own, served = (torch.tensor(logits).log_softmax(-1) for logits in (ours, theirs))
    divergence = torch.nn.functional.kl_div(served, own, log_target=True, reduction="none").sum(-1)
    agreement = (own.argmax(-1) == served.argmax(-1)).double().mean()
    return Likeness(float(divergence.mean()), float(agreement))


@pytest.fixture(scope="module")
def base() -> Base:
    return load_base(demo_model_path())


@pytest.fixture(scope="module")
def model(base: Base) -> Model:
    return Model(base)


@pytest.fixture(scope="module")
def examples() -> list[TokenizedExample]:
    return encode(PAIRS, demo_model_path())


@pytest.fixture
def compare(
    model: Model, examples: list[TokenizedExample], served_logits: Served
) -> Callable[..., Likeness]:
    """How alike torch and llama.cpp are over all plans, with an adapter and with its file."""

    def compare(adapter: Adapter, file: Path | None) -> Likeness:
        with torch.no_grad():
            ours = model.logits(pack(examples), adapter).numpy()
        theirs = [
            served_logits(demo_model_path(), [*example.prompt, *example.plan[:-1]], file)[
                len(example.prompt) - 1 :
            ]
            for example in examples
        ]
        return likeness(ours, np.concatenate(theirs))

    return compare


def strong(base: Base) -> Adapter:
    """A random adapter that changes one choice in six."""
    return random_adapter(base, seed=3, std=0.15)


def test_an_adapter_is_served_as_faithfully_as_the_bare_model(
    base: Base, compare: Callable[..., Likeness], tmp_path: Path
) -> None:
    adapter, nothing = strong(base), new_adapter(base, 4, 8.0, 0)
    write_adapter(adapter, tmp_path / "right.gguf", {"name": "Test"})
    b = {
        name: rows.view(-1, 32, 2, 4).transpose(1, 2).reshape(-1, 4)
        if name.endswith(("attn_q", "attn_k"))
        else rows
        for name, rows in adapter.b.items()
    }
    write_adapter(Adapter(4, 8.0, adapter.a, b), tmp_path / "wrong.gguf", {"name": "Test"})
    bare, changed = compare(nothing, None), compare(adapter, None)
    right = compare(adapter, tmp_path / "right.gguf")
    wrong = compare(adapter, tmp_path / "wrong.gguf")
    assert changed.divergence > 50 * bare.divergence
    assert right.divergence < 1.5 * bare.divergence
    assert right.agreement > bare.agreement - 0.03
    # As other formats order the rows; llama.cpp can't notice.
    assert wrong.divergence > 5 * bare.divergence


def test_products_of_16_bits_leave_loss_and_gradient_as_they_are(
    base: Base, model: Model, examples: list[TokenizedExample]
) -> None:
    batch = pack(examples)

    def computed(model: Model) -> tuple[float, torch.Tensor]:
        adapter = strong(base)
        loss = model.loss(batch, adapter)
        grads = torch.autograd.grad(loss, adapter.parameters())
        return float(loss.detach()), torch.cat([grad.flatten() for grad in grads])

    (wide_loss, wide), (narrow_loss, narrow) = map(computed, (model, Model(base, torch.bfloat16)))
    assert narrow_loss == pytest.approx(wide_loss, rel=0.01)
    assert narrow_loss != wide_loss
    assert float(torch.cosine_similarity(wide, narrow, dim=0)) > 0.99
    assert float(narrow.norm() / wide.norm()) == pytest.approx(1, rel=0.02)


@pytest.mark.exhaustive
def test_a_few_pairs_become_an_adapter_that_changes_what_is_served(
    base: Base, examples: list[TokenizedExample], served_logits: Served, tmp_path: Path
) -> None:
    config = TrainConfig(rank=4, alpha=8.0, steps=4, lr=2e-3, eval_every=4)
    result = train(PAIRS, PAIRS[:1], config, tmp_path / "run", base=demo_model_path())
    file = export(result.best, tmp_path / "adapter.gguf")
    tokens = [*examples[0].prompt, *examples[0].plan[:-1]]
    bare = served_logits(demo_model_path(), tokens)
    adapted = served_logits(demo_model_path(), tokens, file)
    assert likeness(adapted, bare).divergence > 0.05
    targets = np.array([*tokens[1:], examples[0].plan[-1]])
    start = len(examples[0].prompt) - 1

    def loss(logits: np.ndarray) -> float:
        rows = torch.tensor(logits[start:])
        return float(torch.nn.functional.cross_entropy(rows, torch.tensor(targets[start:])))

    assert loss(adapted) < loss(bare)


def test_plans_of_its_own_become_an_adapter_that_plans(tmp_path: Path) -> None:
    base = demo_model_path()
    config = TrainConfig(steps=1, lr=1e-4, eval_every=1)
    practice = Practice(objectives=2, plans=3, updates=1)
    start = planner_adapter(base)
    result = train(
        PAIRS, PAIRS[:1], config, tmp_path / "run", base=base, start=start, practice=practice
    )
    # What plans already lacks little of what its plans could be worth.
    assert result.dev_losses[1] < 0.5
    model = LlamaCppModel(base, planner_adapter=export(result.best, tmp_path / "adapter.gguf"))
    assert len(asyncio.run(planner_for(model).plan(PAIRS[0][0], PlanContext())).plan.steps) == 3
