"""Which finished steps of a run a fork of it takes over. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...errors import InputError
from ...frozen import Frozen
from ...task_ir import TaskIR, is_orchestrated
from ..compile import CompiledStep, compile_plan
from ..edited.unchanged import unchanged_steps

__all__ = ["ForkSource", "check_choice", "steps_taken_over"]


class ForkSource(Frozen):
    """What a run takes finished steps over from.

    Attributes:
        run: The run's id, or its flow run's.
        again: Ids of steps that are done anew although they are finished, and with them all that
            depend on them.
    """

    run: str
    again: tuple[str, ...] = ()


def steps_taken_over(
    before: TaskIR, after: TaskIR, finished: Collection[str], again: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the ids of the steps that a fork takes over, in the order of its plan.

    A step is taken over if it is finished, if nothing that it is asked for or reads has changed,
    and if all that it reads is taken over too. The memory has no say: what it advises changes
    from run to run.

    Args:
        before: The plan by which the steps were done.
        after: The fork's own.
        finished: Ids of the steps that have succeeded.
        again: Ids of steps that are to be done anew.
    """
    new = compile_plan(after)
    unchanged = unchanged_steps(compile_plan(before), new, finished) - set(again)
    taken: dict[str, None] = {}
    for step in new.steps:
        if step.id in unchanged and _are_in(step, taken):
            taken[step.id] = None
    return tuple(taken)


def check_choice(
    source: ForkSource, before: TaskIR, after: TaskIR, taken: Sequence[str], finished: int
) -> None:
    """Refuse a fork that is asked for something that isn't there, or that would do nothing.

    Args:
        source: What is asked for.
        before: The source's plan.
        after: The fork's.
        taken: Ids of the steps that it takes over.
        finished: How many steps the source has finished.

    Raises:
        InputError: It names a step that the plan doesn't have, nothing can be taken over although
            no step was named, or everything is and the answer is the same.
    """
    ids = [step.id for step in after.steps]
    if unknown := [name for name in source.again if name not in ids]:
        raise InputError(
            f"The plan has no step {unknown[0]!r}.", f"There are {ids[0]} to {ids[-1]}."
        )
    if not taken and not source.again:
        why = "the plan leaves none as it was" if finished else "no step of it is finished"
        raise InputError(
            f"Nothing of run {source.run} can be taken over: {why}.",
            f"Name a step to have it done anew all the same: --from {ids[0]}",
        )
    if len(taken) == len(ids) and before == after and not is_orchestrated(after):
        raise InputError(
            f"A fork of run {source.run} would do nothing: all {len(ids)} steps are finished.",
            f"Name a step that is done anew (--from {ids[-1]}), or edit the plan (--plan FILE).",
        )


def _are_in(step: CompiledStep, taken: Collection[str]) -> bool:
    return all(name in taken for name in step.upstream)
