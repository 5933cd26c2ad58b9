"""The folder of a training run: its state, its kept adapters and its log."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...files import close_to_others, make_folder, owner_only
from ...models.llama.gguf import file_hash
from .base import Adapter, load_base
from .config import TrainConfig, TrainingReport
from .learner import read_adapter

__all__ = [
    "Folder",
    "Origin",
    "TrainingProgress",
    "keep_mean",
    "load_adapter",
    "mean",
    "save_adapter",
    "share_done",
    "write",
    "write_adapter",
    "write_gguf",
]


_COMPARED = ("rank", "alpha", "lr_ratio", "batch_tokens", "seed")


@dataclass
class TrainingProgress:
    """How far a run is.

    Attributes:
        step: Optimiser steps done.
        epoch: Times all examples were seen.
        batch: Batches of this epoch that were seen.
        elapsed_s: Seconds of training, over all resumed parts.
        dev_losses: Development loss by step.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    elapsed_s: float = 0.0
    dev_losses: dict[int, float] = field(default_factory=dict[int, float])

    @property
    def best(self) -> int | None:
        """The step with the lowest development loss, the first of equals."""
        return min(self.dev_losses, key=self.dev_losses.__getitem__, default=None)


def share_done(config: TrainConfig, progress: TrainingProgress, ahead: float = 0.0) -> float:
    """How much of a run is done, 0..1; by steps or by time, whichever is further.

    Args:
        ahead: Steps that are counted as done in addition.
    """
    share = (progress.step + ahead) / config.steps if config.steps else 0.0
    if config.minutes is not None:
        share = max(share, progress.elapsed_s / (config.minutes * 60))
    return min(share, 1.0)


@dataclass(frozen=True)
class Origin:
    """What a run was started with and can't go on without: hashes of the base and the examples."""

    base: str
    data: str


@dataclass(frozen=True)
class Folder:
    """Names the files and writes each whole or not at all.

    `state.pt` is what a run is resumed from, `adapter-000200.pt` the adapter after 200 steps,
    `log.jsonl` has a line for each report.
    """

    path: Path

    @property
    def _state(self) -> Path:
        return self.path / "state.pt"

    def open(self, *, resume: bool) -> None:
        """Make the folder, or see that it holds what is wanted.

        Raises:
            InputError: A new run where one was, or nothing to resume.
        """
        if resume and not self._state.is_file():
            raise InputError(f"There is no run to resume in {self.path}.", "Start one there.")
        if not resume and (self._state.exists() or self.adapters()):
            raise InputError(
                f"{self.path} holds a training run.", "Resume it or name another folder."
            )
        make_folder(self.path)

    def adapters(self) -> tuple[Path, ...]:
        """The kept adapters, in the order of steps."""
        return tuple(sorted(self.path.glob("adapter-*.pt")))

    def adapter(self, step: int) -> Path:
        """Where the adapter after that many steps is kept."""
        return self.path / f"adapter-{step:06}.pt"

    def log(self, report: TrainingReport) -> None:
        """Append a line to the log."""
        with open(self.path / "log.jsonl", "a", encoding="utf-8", opener=owner_only) as file:
            file.write(json.dumps(asdict(report)) + "\n")

    def save(
        self,
        adapter: Adapter,
        optimiser: torch.optim.Optimizer,
        progress: TrainingProgress,
        config: TrainConfig,
        origin: Origin,
    ) -> None:
        """Write the state from which the run goes on."""
        state = {
            "matrices": adapter.parameters(),
            "optimiser": optimiser.state_dict(),
            "progress": asdict(progress),
            "config": asdict(config),
            **asdict(origin),
            "random": torch.get_rng_state(),
        }
        write(self._state, state)

    def restore(
        self,
        adapter: Adapter,
        optimiser: torch.optim.Optimizer,
        config: TrainConfig,
        origin: Origin,
    ) -> TrainingProgress:
        """Put the saved state into an adapter and its optimiser.

        Raises:
            InputError: The run had another base or examples, or settings that can't change.
        """
        state = torch.load(self._state, map_location="cpu", weights_only=True)
        if state["base"] != origin.base:
            raise InputError(f"{self.path} was trained over another base file.", "Name that file.")
        if state.get("data", origin.data) != origin.data:
            raise InputError(
                f"{self.path} was trained with other examples or another policy.", "Name those."
            )
        for name in _COMPARED:
            # Before there was a ratio both matrices learnt alike.
            if (was := state["config"].get(name, 1.0)) != (now := getattr(config, name)):
                raise InputError(
                    f"{self.path} was trained with {name} {was}, not {now}.", f"Give {was} again."
                )
        with torch.no_grad():
            for matrix, saved in zip(adapter.parameters(), state["matrices"], strict=True):
                matrix.copy_(saved)
        optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["random"])
        return TrainingProgress(**state["progress"])


def save_adapter(path: Path, adapter: Adapter, facts: Mapping[str, str]) -> None:
    """Write an adapter and what is known of its making."""
    write(
        path,
        {
            "rank": adapter.rank,
            "alpha": adapter.alpha,
            "a": {name: matrix.detach() for name, matrix in adapter.a.items()},
            "b": {name: matrix.detach() for name, matrix in adapter.b.items()},
            "facts": dict(facts),
        },
    )


def load_adapter(path: Path) -> tuple[Adapter, dict[str, str]]:
    """Read an adapter, and what is known of its making.

    Raises:
        InputError: There is none.
    """
    if not path.is_file():
        raise InputError(f"There is no trained adapter at {path}.", "Give an adapter-*.pt file.")
    saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    a: dict[str, Tensor] = saved["a"]
    b: dict[str, Tensor] = saved["b"]
    return Adapter(saved["rank"], saved["alpha"], a, b), saved["facts"]


def write(path: Path, value: Mapping[str, Any]) -> None:
    """Write tensors and plain values; the file appears whole."""
    part = path.with_suffix(".part")
    with open(part, "wb", opener=owner_only) as file:
        torch.save(value, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def keep_mean(checkpoint: Path, start: Path, base: Path) -> Path:
    """Keep the mean next to the checkpoint; see `averaged`."""
    adapter, facts = load_adapter(checkpoint)
    seed = int(facts.get("seed", 0))
    earlier = read_adapter(start, load_base(base), adapter.rank, adapter.alpha, seed)
    path = checkpoint.with_name(f"mean-{checkpoint.name}")
    save_adapter(path, mean(adapter, earlier), {**facts, "mean.with": file_hash(start)})
    return path


def mean(first: Adapter, second: Adapter) -> Adapter:
    """Halve the sum of adapters of the same matrices, rank and alpha."""
    return Adapter(first.rank, first.alpha, _halved(first.a, second.a), _halved(first.b, second.b))


def _halved(some: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: (some[name].detach() + others[name].detach()) / 2 for name in some}


def write_gguf(checkpoint: Path, target: Path, name: str) -> None:
    """Write a kept adapter as GGUF; see `export`."""
    adapter, facts = load_adapter(checkpoint)
    write_adapter(adapter, target, {"name": name, **facts})


def write_adapter(adapter: Adapter, target: Path, facts: dict[str, str]) -> None:
    """Write a GGUF adapter in 16 bits; the file appears whole or not at all.

    The rows of `attn_q` and `attn_k` need no reordering: the adapter was trained over weights in
    the order of the file that serves (`Base` says more).

    Args:
        facts: `name` becomes `general.name`, all others are stored as `swarm.…`.

    Raises:
        InputError: A number is too large for 16 bits, or is none.
    """
    part = target.with_suffix(".part")
    writer = gguf.GGUFWriter(part, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", adapter.alpha)
    for key, value in facts.items():
        writer.add_string("general.name" if key == "name" else f"swarm.{key}", value)
    for name, a in adapter.a.items():
        for suffix, matrix in (("lora_a", a), ("lora_b", adapter.b[name])):
            with np.errstate(over="ignore"):
                half = matrix.detach().numpy().astype(np.float16)
            if not np.isfinite(half).all():
                raise InputError(f"The adapter of {name} has no finite 16-bit form.", "Lower lr.")
            writer.add_tensor(f"{name}.weight.{suffix}", half)
    make_folder(target.parent)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    close_to_others(part)
    part.replace(target)
