"""Processor time of a training step that something else computes, as a GPU would.

    python benches/planning/issuing.py [--steps 6] [--seed 7]

Each batch of generated pairs is computed on the processor, and then issued to PyTorch's `meta`
device, which takes every operation, works out its shape and computes nothing: loss and gradient,
bfloat16. On a GPU a step takes the longer of that and of what the GPU itself computes. Needs the
`train` extra.
"""

from __future__ import annotations

import argparse

import torch
from precision import sample, step
from prefect_swarm.models.llama.api import usable_cores
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.parl.train import TrainConfig
from prefect_swarm.parl.train.base import Adapter, load_base, new_adapter
from prefect_swarm.parl.train.batches import Batch, pack
from prefect_swarm.parl.train.learner import keep_memory
from prefect_swarm.parl.train.model import Model
from torch.utils.flop_counter import FlopCounterMode

PAIRS_A_STEP = 12


def worker(device: str, config: TrainConfig, seed: int) -> tuple[Model, Adapter]:
    """Return the embedded model and a new adapter, on a device."""
    base = load_base(demo_model_path(), torch.device(device))
    return Model(base, torch.bfloat16), new_adapter(base, config.rank, config.alpha, seed)


def seconds(model: Model, adapter: Adapter, dealt: list[Batch]) -> float:
    """Return the mean seconds of a step; the first one, which prepares, isn't counted."""
    took = [step(model, batch, adapter)[0] for batch in dealt]
    return sum(took[1:]) / len(took[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    keep_memory()
    torch.set_num_threads(usable_cores())
    config = TrainConfig(steps=1)
    some = sample(args.seed, args.steps + 1, PAIRS_A_STEP, config.batch_tokens)
    tokens = sum(len(example) for examples in some[1:] for example in examples) / (len(some) - 1)
    dealt = [pack(examples) for examples in some]
    computed = seconds(*worker("cpu", config, args.seed), dealt)
    model, adapter = worker("meta", config, args.seed)
    issued = seconds(model, adapter, dealt)
    with FlopCounterMode(display=False) as counter:
        step(model, dealt[-1], adapter)
    print("| A step, in the mean | |\n|---|--:|")
    print(f"| tokens | {tokens:.0f} |\n| computed, {usable_cores()} cores | {computed:.2f} s |")
    print(f"| issued alone | {issued:.2f} s |")
    print(f"| TFLOP of the last one | {counter.get_total_flops() / 1e12:.2f} |")


if __name__ == "__main__":
    main()
