"""Lessons from plans of the model's own: what is worth more than its like becomes likelier."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ...errors import InputError
from ...plan.task_ir import TaskIR
from ..agreement import GRAPH_REWARD, reward
from .batches import Batch, TokenizedExample, batches, pack
from .checkpoints import TrainingProgress
from .config import PolicySettings, Practice, TrainConfig
from .learner import Learner
from .model import SampledPlan, Writer
from .objective import PolicyTarget

__all__ = [
    "Course",
    "PracticeCourse",
    "PracticePlan",
    "SupervisedCourse",
    "Task",
    "TrainingLesson",
    "advantages",
    "part_of_round",
    "sample_plans",
]


@dataclass(frozen=True)
class TrainingLesson:
    """What one step of the optimiser learns from.

    Attributes:
        parts: Batches, computed one after the other, and what each of their targets' losses is
            multiplied by; None for one part of the whole. A `PolicyTarget` makes the loss itself.
        loss: What reports say of it; None says the loss of the batches.
        learnt: Called with the number of the step that was made of it.
    """

    parts: Sequence[tuple[Batch, Tensor | PolicyTarget | None]]
    loss: float | None = None
    learnt: Callable[[int], None] = lambda _: None


class Course(Protocol):
    """Gives lessons, in an order that a seed decides, and examines."""

    @property
    def data(self) -> str:
        """All that is learnt from, as text that tells it from other data."""
        ...

    @property
    def report_every(self) -> int:
        """Steps between two reports."""
        ...

    def lesson(self, progress: TrainingProgress) -> TrainingLesson:
        """The next lesson; counts it in `progress`, whose epoch and batch say which it is."""
        ...

    def dev_loss(self) -> float | None:
        """The loss on what isn't learnt from; None where there is nothing."""
        ...


_ROWS = 256
"""Plans that are written side by side."""

_ROOM, _MORE = 1.3, 15
"""A plan may have so many times the wanted plan's tokens, and so many more."""

_DEV_PLANS = 4


@dataclass(frozen=True)
class Task:
    """An objective, and the plan that is wanted."""

    objective: str
    wanted: TaskIR
    example: TokenizedExample


@dataclass(frozen=True)
class PracticePlan:
    """A plan the model wrote, and what it is worth, 0..1."""

    plan: tuple[int, ...]
    reward: float


Round = list[tuple[Task, list[PracticePlan]]]


class PracticeCourse:
    """Writes plans, round after round, and teaches their difference; a `Course`."""

    def __init__(
        self,
        tasks: Sequence[Task],
        unseen: Sequence[Task],
        config: TrainConfig,
        practice: Practice,
        learner: Learner,
        pieces: Sequence[bytes],
    ) -> None:
        """Begin.

        Args:
            pieces: The bytes of every token.

        Raises:
            InputError: All wanted plans are too long.
        """
        self._tasks = [task for task in tasks if len(task.example.plan) <= practice.longest]
        if not self._tasks:
            raise InputError(
                f"No wanted plan has {practice.longest} tokens or fewer.",
                "Give shorter ones, or a higher longest.",
            )
        self._unseen = unseen
        self._config = config
        self._practice = practice
        self.learner = learner
        self._pieces = pieces
        self._round: Round = []

    @property
    def data(self) -> str:
        """Every task's tokens."""
        return repr([(task.example.prompt, task.example.plan) for task in self._tasks])

    @property
    def report_every(self) -> int:
        """The steps of a round."""
        return self._practice.updates

    def lesson(self, progress: TrainingProgress) -> TrainingLesson:
        """The next part of a round, which is written when its first part is wanted."""
        practice = self._practice
        number, part = part_of_round(progress, len(self._tasks), practice)
        if part == 0 or not self._round:
            self._round = self._write_round(progress.epoch, number)
        progress.batch += 1
        share = self._round[part :: practice.updates]
        rewards = [attempt.reward for _, tries in share for attempt in tries]
        return TrainingLesson(list(self._parts(share)), 1 - sum(rewards) / max(1, len(rewards)))

    def dev_loss(self) -> float | None:
        """What the plans lack of the most they could be worth, on average."""
        if not self._unseen:
            return None
        written = self._write(self._unseen, _DEV_PLANS, torch.Generator().manual_seed(0))
        rewards = [attempt.reward for _, tries in written for attempt in tries]
        return 1 - sum(rewards) / len(rewards)

    def _write_round(self, epoch: int, number: int) -> Round:
        seed = self._config.seed * 1_000_003 + epoch
        order = random.Random(seed).sample(self._tasks, len(self._tasks))  # noqa: S311
        size = self._practice.objectives
        generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
        written = self._write(
            order[number * size : (number + 1) * size], self._practice.plans, generator
        )
        random.Random(number).shuffle(written)  # noqa: S311 - they come by length
        return written

    def _write(self, tasks: Sequence[Task], times: int, generator: torch.Generator) -> Round:
        writer = Writer(self.learner.model, self.learner.adapter)
        found = sample_plans(writer, [task.example for task in tasks], times, generator)
        return [
            (tasks[number], [self._rate_plan(tasks[number], plan.tokens) for plan in plans])
            for number, plans in found
        ]

    def _rate_plan(self, task: Task, plan: tuple[int, ...]) -> PracticePlan:
        ended = plan[-1] == task.example.plan[-1]
        text = b"".join(self._pieces[token] for token in plan).decode("utf-8", "replace")
        return PracticePlan(plan, reward(text, task.objective, task.wanted) if ended else 0.0)

    def _parts(self, share: Round) -> Iterator[tuple[Batch, Tensor]]:
        taught = [(task, self._lesson_weights(task, tries)) for task, tries in share]
        tokens = sum(len(plan) for _, plans in taught for plan, _ in plans)
        for task, plans in taught:
            if plans:
                batch = pack([TokenizedExample(task.example.prompt, plan) for plan, _ in plans])
                counts = [advantage / tokens for plan, advantage in plans for _ in plan]
                yield batch, torch.tensor(counts)

    def _lesson_weights(
        self, task: Task, tries: Sequence[PracticePlan]
    ) -> list[tuple[tuple[int, ...], float]]:
        rewards = [attempt.reward for attempt in tries]
        taught = [(tries[n].plan, advantage) for n, advantage in advantages(rewards)]
        if max(rewards) <= GRAPH_REWARD:
            taught.append((task.example.plan, self._practice.wanted))
        return taught


def part_of_round(
    progress: TrainingProgress, tasks: int, settings: Practice | PolicySettings
) -> tuple[int, int]:
    """Return the number of the next lesson's round in its epoch, and of its part in the round.

    An epoch that is over is counted in `progress`.
    """
    rounds = max(1, tasks // settings.objectives)
    if progress.batch >= rounds * settings.updates:
        progress.epoch, progress.batch = progress.epoch + 1, 0
    return divmod(progress.batch, settings.updates)


def sample_plans(
    writer: Writer, examples: Sequence[TokenizedExample], times: int, generator: torch.Generator
) -> Iterator[tuple[int, list[SampledPlan]]]:
    """Write plans for the prompts of examples, as long as an example's plan and a little longer.

    Yields:
        The number of each example and so many plans, the shortest examples first.
    """
    # Those of one length end together.
    order = sorted(range(len(examples)), key=lambda number: len(examples[number].plan))
    together = max(1, _ROWS // times)
    for first in range(0, len(order), together):
        numbers = order[first : first + together]
        some = [examples[number] for number in numbers]
        limits = [int(_ROOM * len(example.plan)) + _MORE for example in some]
        prompts = [example.prompt for example in some]
        yield from zip(
            numbers,
            writer.sample(prompts, limits, times, some[0].plan[-1], generator),
            strict=True,
        )


_ENDS = 2
"""Plans from each end: they say the most for their time (Xu et al., 2025, arXiv:2504.13818)."""

_ALIKE = 0.01


def advantages(rewards: Sequence[float]) -> list[tuple[int, float]]:
    """Compare plans with each other, as GRPO does (Shao et al., 2024, arXiv:2402.03300).

    What is better than the mean becomes likelier, what is worse less likely, by so much. It isn't
    divided by the deviation, which would give the objectives of which nothing is to learn a say.

    Returns:
        Number and advantage of the two best and the two worst plans, those close to the mean of
        these four left out.
    """
    ordered = sorted(range(len(rewards)), key=lambda number: -rewards[number])
    ends = list(dict.fromkeys([*ordered[:_ENDS], *ordered[-_ENDS:]]))
    mean = sum(rewards[number] for number in ends) / max(1, len(ends))
    found = ((number, rewards[number] - mean) for number in ends)
    return [(number, advantage) for number, advantage in found if abs(advantage) > _ALIKE]


class SupervisedCourse:
    """Deals all examples into batches, epoch after epoch; a `Course`."""

    report_every = 10

    def __init__(
        self,
        examples: Sequence[TokenizedExample],
        unseen: Sequence[TokenizedExample],
        config: TrainConfig,
        learner: Learner,
    ) -> None:
        self._examples = examples
        self._config = config
        self._learner = learner
        by_length = sorted(unseen, key=len)
        self._unseen = [pack(some) for some in batches(by_length, config.batch_tokens, None)]
        self._dealt: list[list[TokenizedExample]] = []

    @property
    def data(self) -> str:
        """Every example's tokens."""
        return repr([(example.prompt, example.plan) for example in self._examples])

    def lesson(self, progress: TrainingProgress) -> TrainingLesson:
        """The next batch."""
        if not self._dealt or progress.batch == len(self._dealt):
            if self._dealt:
                progress.epoch, progress.batch = progress.epoch + 1, 0
            seed = self._config.seed * 1_000_003 + progress.epoch
            self._dealt = list(batches(self._examples, self._config.batch_tokens, seed))
            # A resumed epoch may have been seen whole.
            if progress.batch == len(self._dealt):
                return self.lesson(progress)
        progress.batch += 1
        return TrainingLesson([(pack(self._dealt[progress.batch - 1]), None)])

    def dev_loss(self) -> float | None:
        """Mean loss of a token."""
        if not self._unseen:
            return None
        model, adapter = self._learner.model, self._learner.adapter
        with torch.no_grad():
            sums = [
                float(model.loss(example, adapter)) * len(example.targets)
                for example in self._unseen
            ]
        return sum(sums) / sum(len(example.targets) for example in self._unseen)
