"""Lessons from runs of the model's own plans: what they come to is worth more, and is said again.

Each round writes K plans for each of some objectives, executes all of them, and gives each the
reward of its run. `objective.py` has what is learnt from that, `rollout.py` what a run is worth.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

import torch

from ...files import owner_only
from ...tasks.planner.line_format import read_lines
from ..rollout import (
    UNREAD,
    Rollout,
    advantages_of,
    agreed_rollout,
    auxiliary_weight,
    reward_of,
)
from .batches import Batch, TokenizedExample, encode, pack
from .checkpoints import TrainingProgress, share_done
from .config import POLICY_LOG, PolicySettings, TrainConfig
from .learner import Learner
from .model import SampledPlan, Writer
from .objective import PolicyMeter, PolicyTarget
from .practice import TrainingLesson, part_of_round, sample_plans

__all__ = ["PolicyCourse", "PolicyPrompt", "PolicyTask", "agreed_prompts", "policy_tasks"]


_DEV_PLANS = 2
_FIGURES = (
    "r_perf",
    "r_parallel",
    "r_finish",
    "critical_steps",
    "width",
    "steps",
    "requests",
    "seconds",
)


@dataclass(frozen=True)
class PolicyPrompt:
    """An objective that plans are written for, and what executes them.

    Attributes:
        plan: A plan in lines, about as long as those that are expected: one may take 1.3 times its
            tokens, and a few more.
        run: From a text to what it is as an executed plan.
        kind: What the log counts it as, beside all of them.
    """

    objective: str
    plan: str
    run: Callable[[str], Rollout]
    kind: str


@dataclass(frozen=True)
class PolicyTask:
    """A prompt, and its tokens with those of its plan."""

    prompt: PolicyPrompt
    example: TokenizedExample


@dataclass(frozen=True)
class _Written:
    plan: SampledPlan
    rollout: Rollout


Round = list[tuple[PolicyTask, list[_Written]]]


def policy_tasks(prompts: Sequence[PolicyPrompt], base: Path) -> list[PolicyTask]:
    """Turn prompts into tokens; see `encode` for errors."""
    examples = encode([(each.objective, each.plan) for each in prompts], base)
    return [PolicyTask(*each) for each in zip(prompts, examples, strict=True)]


def agreed_prompts(pairs: Sequence[tuple[str, str]]) -> list[PolicyPrompt]:
    """Return pairs as prompts: a plan is worth its agreement with the pair's."""
    return [
        PolicyPrompt(
            objective,
            plan,
            partial(agreed_rollout, objective=objective, wanted=read_lines(plan, objective)),
            "pairs",
        )
        for objective, plan in pairs
    ]


class PolicyCourse:
    """Writes and executes plans, round after round, and teaches what they are worth; a `Course`."""

    def __init__(
        self,
        tasks: Sequence[PolicyTask],
        unseen: Sequence[PolicyTask],
        config: TrainConfig,
        policy: PolicySettings,
        learner: Learner,
        pieces: Sequence[bytes],
        folder: Path,
    ) -> None:
        """Begin.

        Args:
            pieces: The bytes of every token.
            folder: Where the log goes, a line for each step.
        """
        self._tasks, self._unseen = tasks, unseen
        self._config, self._policy = config, policy
        self.learner = learner
        self._pieces = pieces
        self._log = folder / POLICY_LOG
        self._round: Round = []
        self._is_begun = False

    @property
    def data(self) -> str:
        """Every task's tokens, and what a run may not change."""
        tokens = [(task.example.prompt, task.example.plan) for task in self._tasks]
        return repr((tokens, asdict(self._policy)))

    @property
    def report_every(self) -> int:
        """The steps of a round."""
        return self._policy.updates

    def lesson(self, progress: TrainingProgress) -> TrainingLesson:
        """The next part of a round, which is written and run when its first part is wanted."""
        policy = self._policy
        if not self._is_begun:
            self._is_begun = True
            _keep_lines(self._log, progress.step)
        number, part = part_of_round(progress, len(self._tasks), policy)
        if part == 0 or not self._round:
            self._round = self._write_round(progress.epoch, number)
        progress.batch += 1
        share = self._round[part :: policy.updates]
        done = share_done(self._config, progress)
        weights = [
            auxiliary_weight(first, done, policy.annealed)
            for first in (policy.parallel, policy.finish)
        ]
        rewards = [
            [reward_of(written.rollout, *weights) for written in plans] for _, plans in share
        ]
        meter = PolicyMeter()
        figures = {
            "weight_parallel": weights[0],
            "weight_finish": weights[1],
            "reward": fmean(each for some in rewards for each in some),
            **_figures(share),
        }

        def learnt(step: int) -> None:
            line = {"step": step, **figures, **meter.means()}
            with open(self._log, "a", encoding="utf-8", opener=owner_only) as file:
                file.write(json.dumps(line) + "\n")

        parts = list(self._parts(share, rewards, meter))
        return TrainingLesson(parts, 1 - figures["r_perf"], learnt)

    def dev_loss(self) -> float | None:
        """What the plans of unseen objectives lack of the most r_perf, on average."""
        if not self._unseen:
            return None
        written = self._write(self._unseen, _DEV_PLANS, torch.Generator().manual_seed(0))
        return 1 - fmean(each.rollout.r_perf for _, plans in written for each in plans)

    def _write_round(self, epoch: int, number: int) -> Round:
        seed = self._config.seed * 1_000_003 + epoch
        order = random.Random(seed).sample(list(self._tasks), len(self._tasks))  # noqa: S311
        size = self._policy.objectives
        generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
        chosen = order[number * size : (number + 1) * size]
        written = self._write(chosen, self._policy.plans, generator)
        random.Random(number).shuffle(written)  # noqa: S311 - they come by length
        return written

    def _write(self, tasks: Sequence[PolicyTask], times: int, generator: torch.Generator) -> Round:
        writer = Writer(self.learner.model, self.learner.adapter)
        found = sample_plans(writer, [task.example for task in tasks], times, generator)
        return [
            (tasks[number], [_Written(plan, self._run(tasks[number], plan)) for plan in plans])
            for number, plans in found
        ]

    def _run(self, task: PolicyTask, plan: SampledPlan) -> Rollout:
        if plan.tokens[-1] != task.example.plan[-1]:
            return UNREAD
        text = b"".join(self._pieces[token] for token in plan.tokens).decode("utf-8", "replace")
        return task.prompt.run(text)

    def _parts(
        self, share: Round, rewards: Sequence[Sequence[float]], meter: PolicyMeter
    ) -> Iterator[tuple[Batch, PolicyTarget]]:
        """Give a batch for each objective whose plans differ in what they are worth."""
        tokens = sum(len(each.plan.tokens) for _, plans in share for each in plans)
        for (task, plans), worth in zip(share, rewards, strict=True):
            found = advantages_of(worth)
            if max(map(abs, found)) < _ALIKE:
                continue
            examples = [TokenizedExample(task.example.prompt, each.plan.tokens) for each in plans]
            old = [log for each in plans for log in each.plan.log_probabilities]
            taught = [
                advantage
                for each, advantage in zip(plans, found, strict=True)
                for _ in each.plan.tokens
            ]
            target = PolicyTarget(
                torch.tensor(old), torch.tensor(taught), tokens, self._policy, meter
            )
            yield pack(examples), target


_ALIKE = 1e-6


def _figures(share: Round) -> dict[str, float]:
    """Return the means of each term over all rollouts, and over those of each kind."""
    found = [(task.prompt.kind, each) for task, plans in share for each in plans]
    figures = _means([each for _, each in found])
    for kind in dict.fromkeys(kind for kind, _ in found):
        own = _means([each for name, each in found if name == kind])
        figures |= {f"{kind}.{name}": value for name, value in own.items()}
    return figures


def _means(written: Sequence[_Written]) -> dict[str, float]:
    figures = {
        name: fmean(float(getattr(each.rollout, name)) for each in written) for name in _FIGURES
    }
    figures["read"] = fmean(each.rollout is not UNREAD for each in written)
    figures["plan_tokens"] = fmean(len(each.plan.tokens) for each in written)
    return figures


def _keep_lines(log: Path, step: int) -> None:
    """Drop the lines of steps that a resumed run does again."""
    if not log.is_file():
        return
    lines = log.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if json.loads(line)["step"] <= step]
    log.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
