"""Gain of a training step from multiplying in 16 bits instead of 32.

    python benches/planning/precision.py [--batches 6] [--tokens 1100] [--seed 7]

Both compute the same batches of generated pairs in turn, from an adapter that changes nothing yet:
tokens a second, mean loss, and how alike the gradients are. Needs the `train` extra.
"""

from __future__ import annotations

import argparse
import time

import torch
from prefect_swarm.models.llama.api import usable_cores
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.parl.data.generate import generate
from prefect_swarm.parl.train import TrainConfig
from prefect_swarm.parl.train.base import Adapter, load_base, new_adapter
from prefect_swarm.parl.train.batches import Batch, TokenizedExample, batches, encode, pack
from prefect_swarm.parl.train.learner import keep_memory
from prefect_swarm.parl.train.model import Model
from torch import Tensor

__all__ = ["sample", "step"]

TYPES = (torch.float32, torch.bfloat16)
PAIRS_A_BATCH = 8


def sample(seed: int, count: int, pairs: int, tokens: int) -> list[list[TokenizedExample]]:
    """Return at most `count` batches of `tokens`, of `pairs` generated pairs for each."""
    examples = [(pair.objective, pair.plan) for pair in generate(seed, count * pairs)]
    return list(batches(encode(examples, demo_model_path()), tokens, None))[:count]


def step(model: Model, batch: Batch, adapter: Adapter) -> tuple[float, Tensor, Tensor]:
    """Return the seconds, the loss and the gradient of one step."""
    began = time.perf_counter()
    loss = model.loss(batch, adapter)
    grads = torch.autograd.grad(loss, adapter.parameters())
    seconds = time.perf_counter() - began
    return seconds, loss.detach(), torch.cat([grad.flatten() for grad in grads])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=1100)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    keep_memory()
    torch.set_num_threads(usable_cores())
    path, config = demo_model_path(), TrainConfig(steps=1)
    base = load_base(path)
    adapter = new_adapter(base, config.rank, config.alpha, args.seed)
    dealt = sample(args.seed, args.batches, PAIRS_A_BATCH, args.tokens)
    models = {dtype: Model(base, dtype) for dtype in TYPES}
    for model in models.values():
        step(model, pack(dealt[0]), adapter)
    seconds, losses = dict.fromkeys(TYPES, 0.0), dict.fromkeys(TYPES, 0.0)
    alike = 0.0
    for batch in map(pack, dealt):
        grads: list[Tensor] = []
        for dtype, model in models.items():
            took, loss, grad = step(model, batch, adapter)
            seconds[dtype] += took
            losses[dtype] += float(loss) / len(dealt)
            grads.append(grad)
        alike += float(torch.cosine_similarity(*grads, dim=0)) / len(dealt)
    tokens = sum(len(example) for some in dealt for example in some)
    print("| Products | tokens a second | loss |\n|---|--:|--:|")
    for dtype in TYPES:
        name = str(dtype).removeprefix("torch.")
        print(f"| {name} | {tokens / seconds[dtype]:.0f} | {losses[dtype]:.4f} |")
    faster = seconds[torch.float32] / seconds[torch.bfloat16]
    print(f"\n{faster:.2f} times as fast; cosine of the gradients {alike:.4f}")


if __name__ == "__main__":
    main()
