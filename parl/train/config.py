"""Configuration and result of a training run. Free of torch."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ...errors import InputError
from ...host.system import require_llama_cpp

__all__ = [
    "POLICY_LOG",
    "PolicySettings",
    "Practice",
    "TrainConfig",
    "TrainResult",
    "TrainingReport",
    "require_extra",
]


@dataclass(frozen=True)
class TrainConfig:
    """How an adapter is trained. At least one of `steps` and `minutes` ends the run.

    Attributes:
        rank: Rank of every pair of matrices.
        alpha: The adapter's product is multiplied by alpha ÷ rank.
        lr: Highest learning rate of the adapter's first matrices, which read the input.
        lr_ratio: How many times faster the second ones learn, which begin at zero: LoRA+ (Hayou et
            al., 2024, arXiv:2402.12354).
        warmup: Share of the run in which it rises from 0; then it falls in a straight line.
        final_lr: Share of `lr` at the end.
        steps: The most optimiser steps.
        minutes: The most minutes of training, over all resumed parts; evaluations count.
        batch_tokens: Tokens of one step; an example is never cut.
        eval_every: Steps between two evaluations; the adapter is kept at each.
        save_every: Steps between two states from which a run can be resumed.
        patience: End after this many evaluations without a better loss; None for never.
        clip: The gradient's longest norm.
        seed: Of the first matrices and of the order of the examples.
        threads: Threads that compute; None takes every core this process may use.
        device: What computes: `cpu`, `cuda` or one of several GPUs, such as `cuda:1` (AMD's go by
            that name too). None takes a GPU where PyTorch finds one, else the processor.
        precision: Of the large products; what is learnt and added up always has 32 bits. None takes
            bfloat16, nearly twice as fast, where the device multiplies that, and float32
            elsewhere.
    """

    rank: int = 16
    alpha: float = 32.0
    lr: float = 4e-4
    lr_ratio: float = 8.0
    warmup: float = 0.05
    final_lr: float = 0.02
    steps: int | None = None
    minutes: float | None = None
    batch_tokens: int = 1600
    eval_every: int = 50
    save_every: int = 25
    patience: int | None = None
    clip: float = 1.0
    seed: int = 0
    threads: int | None = None
    device: str | None = None
    precision: Literal["float32", "bfloat16"] | None = None

    def __post_init__(self) -> None:
        for name in ("rank", "batch_tokens", "eval_every", "save_every"):
            _check(name, getattr(self, name), least=1)
        for name in ("steps", "patience", "threads"):
            if getattr(self, name) is not None:
                _check(name, getattr(self, name), least=1)
        for name in ("alpha", "lr", "lr_ratio", "clip"):
            _check(name, getattr(self, name), above=0)
        for name in ("warmup", "final_lr"):
            _check(name, getattr(self, name), least=0, most=1)
        if self.minutes is not None:
            _check("minutes", self.minutes, above=0)
        if self.device is not None and not re.fullmatch(r"cpu|cuda(:\d+)?", self.device):
            raise InputError(f"device is {self.device!r}.", "Give cpu, cuda or cuda:1.")
        if self.steps is None and self.minutes is None:
            raise InputError("Nothing says when training ends.", "Give steps, minutes or both.")


@dataclass(frozen=True)
class Practice:
    """How a planner learns from plans of its own.

    Attributes:
        objectives: Of a round, in which all plans are written before any is learnt from.
        plans: Of each objective.
        updates: Optimiser steps of a round, each of as many objectives.
        longest: Objectives whose wanted plan has more tokens are left out. They take most of the
            time, but a planner that never practises wide plans unlearns them.
        wanted: Weight of the wanted plan, next to advantages of at most 1, where no plan of an
            objective has its graph; 0 for nothing.
    """

    objectives: int = 48
    plans: int = 6
    updates: int = 3
    longest: int = 300
    wanted: float = 0.2

    def __post_init__(self) -> None:
        for name in ("objectives", "updates", "longest"):
            _check(name, getattr(self, name), least=1)
        _check("plans", self.plans, least=2)
        _check("wanted", self.wanted, least=0)
        if self.updates > self.objectives:
            raise InputError(
                f"{self.objectives} objectives give no {self.updates} updates.",
                "Give fewer updates or more objectives.",
            )


POLICY_LOG = "policy.jsonl"
"""In the folder of a run that learns from runs: a line for each step."""


@dataclass(frozen=True)
class PolicySettings:
    """How a planner learns from runs of its own plans: PARL (arXiv:2602.02276).

    Attributes:
        objectives: Of a round, in which all plans are written and executed before any is learnt
            from.
        plans: Of each objective: K. The mean of their rewards is what each is compared with.
        updates: Optimiser steps of a round, each of as many objectives.
        parallel: λ1, the weight of r_parallel as training begins.
        finish: λ2, the weight of r_finish as training begins.
        annealed: The share of the run at which both weights are 0; None keeps them as they are.
        low: The least logarithm of a token's new probability over its old one. A token beyond a
            bound has no gradient, whatever its advantage.
        high: The highest one.
        drift: τ, the weight of the square of that logarithm.
    """

    objectives: int = 12
    plans: int = 6
    updates: int = 2
    parallel: float = 0.1
    finish: float = 0.1
    annealed: float | None = 0.8
    low: float = -0.3
    high: float = 0.3
    drift: float = 0.01

    def __post_init__(self) -> None:
        for name in ("objectives", "updates"):
            _check(name, getattr(self, name), least=1)
        _check("plans", self.plans, least=2)
        for name in ("parallel", "finish", "drift"):
            _check(name, getattr(self, name), least=0)
        if self.annealed is not None:
            _check("annealed", self.annealed, above=0, most=1)
        _check("low", self.low, most=0)
        _check("high", self.high, least=0)
        if self.updates > self.objectives:
            raise InputError(
                f"{self.objectives} objectives give no {self.updates} updates.",
                "Give fewer updates or more objectives.",
            )


@dataclass(frozen=True)
class TrainingReport:
    """One line of a training log.

    Attributes:
        loss: Mean loss of a plan's token since the last report; of a planner that learns from plans
            of its own, what they lacked of the most they could be worth.
        dev_loss: The same on the development examples, where it was measured.
        lr: Learning rate of the first matrices in the last step.
        tokens_s: Tokens of examples trained on, shared prefixes counted each time, per second.
        elapsed_s: Seconds of training so far, over all resumed parts.
    """

    step: int
    loss: float
    dev_loss: float | None
    lr: float
    tokens_s: float
    elapsed_s: float


@dataclass(frozen=True)
class TrainResult:
    """What a run left behind.

    Attributes:
        steps: Optimiser steps done, those before a resume included.
        best: The kept adapter with the lowest development loss; the last one without such.
        checkpoints: Every kept adapter, in the order of steps.
        dev_losses: Development loss by step.
        stopped: What ended it.
    """

    steps: int
    best: Path
    checkpoints: tuple[Path, ...]
    dev_losses: dict[int, float]
    stopped: str


def _check(
    name: str,
    value: float,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
) -> None:
    # Comparisons that have to hold refuse NaN too.
    if not (least <= value <= most and above < value < math.inf):
        bounds = [f"at least {least}"] if least > -math.inf else []
        bounds += [f"more than {above}"] if above > -math.inf else []
        bounds += [f"at most {most}"] if most < math.inf else []
        raise InputError(f"{name} is {value}.", f"Give {' and '.join(bounds)}.")


_NEEDED = ("torch", "gguf")


def require_extra() -> None:
    """Say what of the extras `train` and `local` is missing, before an import fails somewhere deep.

    Raises:
        InputError: Something is.
    """
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise InputError(
            f"Training needs {' and '.join(missing)}, which is not installed.",
            "Run: pip install 'prefect-swarm[train]'",
        )
    require_llama_cpp()
