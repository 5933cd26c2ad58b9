"""A run as its pages are made from it: the result, or how far it is, with the texts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ...measures.stretch import RunTime
from ...result import Cost, Metrics, Planning, Recall, StepResult

__all__ = ["AttemptView", "RunView", "StepView"]


@dataclass(frozen=True, slots=True)
class AttemptView:
    """What an attempt was sent and what it answered; "" where nothing is stored (any more).

    Attributes:
        number: As in the step's result.
        instructions: The system prompt.
        sent: The prompt as it was sent, with what it read and what earlier attempts had led to.
        answered: The answer as the model wrote it.
    """

    number: int
    instructions: str = ""
    sent: str = ""
    answered: str = ""


@dataclass(frozen=True, slots=True)
class StepView:
    """A step now, or as it ended.

    Attributes:
        result: Its attempts with gates, decisions and calls; the status `unfinished` if it goes on.
        status: As the schedule has it: waiting, asked, ready, running, succeeded, failed, skipped,
            cancelled.
        why: What it waits for, or how it ended; "" if there is nothing to say.
        kind: What it makes: text, json, python, shell, files.
        reads: What it was given: names of inputs and steps, with the characters of each.
        output: What it made, whole or cut; None if there is nothing.
        output_chars: How long the whole is.
        files: Names of the files that it left.
    """

    result: StepResult
    upstream: tuple[str, ...]
    status: str
    why: str = ""
    kind: str = "text"
    optional: bool = False
    reads: tuple[tuple[str, int], ...] = ()
    attempts: tuple[AttemptView, ...] = ()
    output: str | None = None
    output_chars: int = 0
    files: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The step's id."""
        return self.result.id


@dataclass(frozen=True, slots=True)
class RunView:
    """A run now, or as it ended.

    Attributes:
        status: completed, partial, failed, unfinished (left), or running.
        answer: "" as long as there is none.
        metrics: None before any step ran.
        recall: What the memory knew; None without one.
        time: Where its time went; None before it has ended, or if it wasn't measured.
    """

    run_id: str
    flow_run_id: str
    objective: str
    status: str
    answer: str
    problem: str
    steps: tuple[StepView, ...]
    planning: Planning | None
    metrics: Metrics | None
    cost: Cost
    recall: Recall | None = None
    taught: tuple[str, ...] = ()
    time: RunTime | None = None
    began_at: float = 0.0
    ended_at: float | None = None
