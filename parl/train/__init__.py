"""Training of the orchestrator's adapter: examples in, a GGUF adapter out.

Needs the `train` extra. Weights are those of the served file, prompts are tokenised by the engine's
own tokenizer, so what is trained is what is served.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError
from ...host.system import sleeping_threads
from .config import (
    PolicySettings,
    Practice,
    TrainConfig,
    TrainingReport,
    TrainResult,
    require_extra,
)

if TYPE_CHECKING:
    from .policy import PolicyPrompt

__all__ = [
    "PolicySettings",
    "Practice",
    "TrainConfig",
    "TrainResult",
    "TrainingReport",
    "average_adapters",
    "export",
    "train",
    "train_policy",
    "training_device",
]


def train(
    pairs: Sequence[tuple[str, str]],
    development: Sequence[tuple[str, str]],
    config: TrainConfig,
    folder: Path,
    *,
    base: Path,
    start: Path | None = None,
    practice: Practice | PolicySettings | None = None,
    resume: bool = False,
    show: Callable[[TrainingReport], None] | None = None,
) -> TrainResult:
    """Train a low-rank adapter that turns an objective into a plan.

    Args:
        pairs: (objective, plan in lines) to learn from.
        development: Pairs that are only measured; may be empty.
        config: How to train and when to end.
        folder: Where state, kept adapters and the log go.
        base: The GGUF file that will serve with the adapter.
        start: A GGUF adapter of the same base to go on from, of the same or a lower rank and of
            the same alpha ÷ rank; a new one if none.
        practice: Learn from plans of its own, compared with each other by what they are worth
            in addition to the pairs' plans; `PolicySettings` have them executed, and learn from
            what that comes to. None to learn the pairs' plans. Both want an adapter that plans.
        resume: Go on with the run that the folder holds; a round of practice that was broken off
            is written again.
        show: Called with each report, if given.

    Raises:
        InputError: The `train` extra, an example, the run to resume or the device is missing,
            `start` has a higher rank or another alpha ÷ rank, or the loss is not a number any more.
        ModelError: The base can't be read, or is not of the llama architecture; `start` is missing
            or was made for another base.
    """
    require_extra()
    if not pairs:
        raise InputError("There is no example to train with.", "Give at least one pair.")
    with sleeping_threads():
        from .loop import run

    return run(
        pairs,
        development,
        config,
        folder,
        base,
        show or _quiet,
        start=start,
        practice=practice,
        resume=resume,
    )


def train_policy(
    prompts: Sequence[PolicyPrompt],
    unseen: Sequence[PolicyPrompt],
    config: TrainConfig,
    policy: PolicySettings,
    folder: Path,
    *,
    base: Path,
    start: Path,
    resume: bool = False,
    show: Callable[[TrainingReport], None] | None = None,
) -> TrainResult:
    """Have a planner learn from runs of its own plans: PARL (arXiv:2602.02276).

    `policy.jsonl` in the folder gets a line for each step, with each term of the reward. A run that
    goes on from a state between two rounds comes to what it would have come to.

    Args:
        prompts: Objectives, each with what executes its plans.
        unseen: Prompts that are only measured; may be empty.
        start: A GGUF adapter of the base that plans.

    Raises:
        InputError: The `train` extra, a prompt, the run to resume or the device is missing, or the
            loss is not a number any more.
        ModelError: The base or `start` can't be read, or don't belong together.
    """
    require_extra()
    if not prompts:
        raise InputError("There is no objective to train with.", "Give at least one.")
    with sleeping_threads():
        from .loop import run_policy

    return run_policy(
        prompts,
        unseen,
        config,
        policy,
        folder,
        base,
        show or _quiet,
        start=start,
        resume=resume,
    )


def _quiet(_: TrainingReport) -> None:
    pass


def training_device(config: TrainConfig) -> str:
    """What will compute a run, in PyTorch's words: `cpu`, `cuda` or `cuda:1`.

    Raises:
        InputError: The `train` extra is missing, or the GPU that is wanted.
    """
    require_extra()
    with sleeping_threads():
        from .learner import device_of

    return str(device_of(config))


def average_adapters(checkpoint: Path, start: Path, *, base: Path) -> Path:
    """Keep the mean of an adapter and of the one it was trained on from, and return its path.

    Args:
        checkpoint: A kept adapter; the mean is kept next to it.
        start: The GGUF adapter that its run went on from.
        base: The GGUF file of both.

    Raises:
        InputError: The `train` extra or the adapter is missing, or `start` has a higher rank.
        ModelError: `start` is missing or was made for another base.
    """
    require_extra()
    with sleeping_threads():
        from .checkpoints import keep_mean

    return keep_mean(checkpoint, start, base)


def export(checkpoint: Path, target: Path, *, name: str = "Prefect Swarm orchestrator") -> Path:
    """Write a kept adapter as a GGUF file, and return its path.

    Its metadata name the base (`swarm.base.name`, `swarm.base.sha256`), the steps and the seed.

    Raises:
        InputError: The `train` extra or the adapter is missing, or it has no 16-bit form.
    """
    require_extra()
    with sleeping_threads():
        from .checkpoints import write_gguf

    write_gguf(checkpoint, target, name)
    return target
