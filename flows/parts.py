"""Parts of a run that runs of their own do on work pools: how they begin, go on and end.

The run of a part is an ordinary run of the deployed flow. It has the plan of the part, and takes
what is done above from the run that it does it for: see `FollowedSteps`. Its flow run is found
again by the key under which it was created, so that a resumed run follows the same one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from prefect.client.schemas.objects import FlowRun, StateType

from ..errors import BudgetExceededError, Category, RunTakenError, ServerError
from ..plan.compile import CompiledStep
from ..plan.ids import root_of
from ..plan.parts import part_of_plan
from ..plan.task_ir import check_objective
from ..store.accounts import Budget
from ..store.events import PartEvent
from ..store.protocol import RunStore, run_id_of
from ..store.result import Planning
from ..store.step import RunPart
from ..tasks.planner.task import Planned
from ..text import one_line
from .context import RunContext, save_step
from .followed import OtherRun
from .fork import ForkSource, plan_done
from .members import take_items
from .options import SwarmOptions
from .prefect_io.child_run import (
    cancel_child,
    changes_of,
    create_child,
    is_child_lost,
    page_of,
    start_again,
)
from .stored_plan import PART, StoredPlanning, StoredRecall, load, save

__all__ = ["Parts", "begin_part", "followed_above", "name_of_part", "options_of_part", "part_key"]


def options_of_part(options: SwarmOptions, bounds: Budget) -> dict[str, Any]:
    """Return the options of a part's run: the run's own, within other bounds. Pure.

    The plan was approved as a whole, and what a part makes is a step's output, not an answer.
    """
    approve = tuple(what for what in options.approve if what not in ("plan", "acting"))
    update: dict[str, Any] = {
        "approve": approve,
        "answer_schema": None,
        "output_to": None,
        # A part may be done on another machine; patches are made where the run is.
        "workspace": None,
        "checks": (),
        "python": None,
        "turns": 1,
        "start_over": False,
        "max_tokens": bounds.max_tokens,
        "max_usd": bounds.max_usd,
        "timeout_s": bounds.timeout_s,
    }
    return options.model_copy(update=update).model_dump(mode="json", exclude_none=True)


def name_of_part(step: str, objective: str) -> str:
    """Return the name of the flow run that does a step of a run. Pure."""
    return one_line(f"{step} of {objective}", 72)


def part_key(step: str, again: Mapping[str, int], number: int) -> str:
    """Return what the flow run of a part is found under. Pure.

    Args:
        step: The step.
        again: How often each step was begun again.
        number: How many runs of the step were ended by their bounds before.
    """
    times = sum(count for name, count in again.items() if root_of(name) == step)
    return f"{PART}{step}.{times}.{number}"


def begin_part(run: RunStore, objective: str, source: ForkSource) -> None:
    """Put the plan of a part, and what the memory made of it, into its run.

    Raises:
        InputError: The run that it is a part of has no plan that can be read, or isn't stored.
        StorageError: There is no room for it.
    """
    above = run.other(source.run)
    plan = part_of_plan(plan_done(above), source.part)
    check_objective(plan, objective)
    take_items(above, run)
    edits = written.edits if (written := above.plan()) else 0
    if recall := load(above, StoredRecall, edits):
        save(run, StoredRecall(recall=recall.recall))
    planning = Planning(source="fork", forked_from=above.run_id, forked_part=source.part)
    save(run, StoredPlanning(planned=Planned(plan=plan, planning=planning)))


def followed_above(run: RunStore, planning: Planning) -> OtherRun | None:
    """Return the run that a run does a part of; None if it does none."""
    if not planning.forked_part:
        return None
    return OtherRun.of(run.other(planning.forked_from), is_part=False)


@dataclass(slots=True)
class Parts:
    """Has parts done; each is under way as long as its `do` is."""

    context: RunContext

    async def do(self, step: CompiledStep) -> None:
        """Have a step's members done by a run of its own, and take their ends.

        Where it is cancelled, so is the flow run.

        Raises:
            BudgetExceededError: Nothing is left for it, or the run's time is over.
            ServerError: Its flow run can't be created, was cancelled, or crashed too often.
        """
        if (part := await asyncio.to_thread(self._finished, step.id)) is not None:
            await asyncio.to_thread(self._follow, step.id, part)
            return
        number = 0
        while True:
            key = part_key(step.id, self.context.restart_counts, number)
            was_settled = key in self.context.ledger.accounts.settled
            part = await self._do(step, key)
            child = self.context.run.other(part.run)
            if was_settled and await asyncio.to_thread(_is_bounded, child, step.id):
                # What it was refused an earlier process has reported; there may be more room now.
                await asyncio.to_thread(self._keep_finished, child, step.id)
                number += 1
                continue
            await asyncio.to_thread(self._follow, step.id, part)
            return

    def _finished(self, step: str) -> RunPart | None:
        """Return the run that had done a step, in an earlier process of this run."""
        state = self.context.run.step(step)
        return state.part if state is not None and state.status == "succeeded" else None

    def _follow(self, step: str, part: RunPart) -> None:
        run = self.context.run
        self.context.records[step].follow(part)
        self.context.followed.follow_part(run, step, run.other(part.run))

    async def _do(self, step: CompiledStep, key: str) -> RunPart:
        context, ledger = self.context, self.context.ledger
        is_over = key in ledger.accounts.settled
        bounds = Budget() if is_over else await ledger.reserve_part(key, step.id)
        parameters = {
            "objective": context.objective.strip(),
            "options": options_of_part(context.options, bounds),
            "fork": {"run": context.run.run_id, "part": step.id},
        }
        flow_run = await create_child(
            context.deployments[step.pool],
            f"{context.flow_run_id}.{key}",
            name_of_part(step.id, context.objective),
            parameters,
        )
        part = RunPart(
            pool=step.pool,
            run=run_id_of(str(flow_run.id)),
            flow_run_id=str(flow_run.id),
            flow_run=one_line(flow_run.name, 200),
            url=page_of(flow_run.id),
        )
        context.records[step.id].follow(part)
        await asyncio.to_thread(save_step, context.run, context.records[step.id])
        try:
            async with asyncio.timeout(ledger.seconds_left):
                await self._wait(step.id, part, flow_run)
        except TimeoutError:
            await cancel_child(flow_run.id, "The time of the run that it is a part of is over.")
            await self._settle(step.id, key, part)
            raise BudgetExceededError(
                f"The run's time was over before flow run {part.flow_run} had ended.",
                "Raise timeout_s.",
            ) from None
        except asyncio.CancelledError:
            # Its account stays open: a resumed run goes on with it.
            await asyncio.shield(self._cancel(step.id, flow_run.id))
            raise
        except ServerError:
            await self._settle(step.id, key, part)
            child = context.run.other(part.run)
            await asyncio.to_thread(self._keep_finished, child, step.id)
            raise
        await self._settle(step.id, key, part)
        return part

    async def _cancel(self, step: str, flow_run_id: UUID) -> None:
        """Cancel a part's flow run, unless another process goes on with this run and with it."""
        try:
            await asyncio.to_thread(save_step, self.context.run, self.context.records[step])
        except RunTakenError:
            return
        await cancel_child(flow_run_id, "The run that it is a part of was cancelled.")

    async def _wait(self, step: str, part: RunPart, flow_run: FlowRun) -> None:
        """Return when a part's run has a result, whether or not the part succeeded in it."""
        child, name = self.context.run.other(part.run), part.flow_run
        is_first = True
        async with aclosing(changes_of(flow_run.id)) as changes:
            async for now in changes:
                state = now.state
                if state is None:
                    continue
                self._report(step, part, state.name or state.type.value.capitalize())
                has_ended = state.type in (StateType.COMPLETED, StateType.FAILED)
                if has_ended and await asyncio.to_thread(child.has_result):
                    return
                was_left, is_first = is_first and state.is_final(), False
                if was_left and state.type is not StateType.COMPLETED:
                    await start_again(now.id, "The run that it is a part of is resumed.")
                elif state.is_crashed():
                    if await is_child_lost(now.id):
                        await cancel_child(now.id, "It has crashed again.")
                        raise ServerError(
                            f"Flow run {name} on the work pool {part.pool} crashed again: "
                            f"{one_line(state.message or '', 300)}",
                            "Look at the pool's worker, and resume the run with --retry-failed.",
                        )
                    await start_again(now.id, "It crashed, and is begun once more.")
                elif state.is_final():
                    raise ServerError(
                        _lost_words(part, child, state.name or "over", state.message or ""),
                        "Have the pool's worker use the same store and data folder "
                        "(PREFECT_INTEGRATIONS_SWARM_STORE), and resume with --retry-failed.",
                    )

    def _report(self, step: str, part: RunPart, state: str) -> None:
        self.context.emit(
            PartEvent(
                step=step,
                pool=part.pool,
                part=part.run,
                flow_run_id=part.flow_run_id,
                flow_run=part.flow_run,
                state=state,
                url=part.url,
            )
        )

    async def _settle(self, step: str, key: str, part: RunPart) -> None:
        accounts = await asyncio.to_thread(self.context.run.other(part.run).accounts)
        self.context.ledger.settle_part(key, step, accounts.usage, accounts.spent)

    def _keep_finished(self, child: RunStore, step: str) -> None:
        """Keep what a part's run has finished, for the one that does the rest."""
        done = OtherRun.of(child, is_part=True)
        take_items(child, self.context.run, step)
        for state in done.states.values():
            text = child.output(state.id) if state.parent and state.attempts else None
            if root_of(state.id) == step and state.status == "succeeded" and text is not None:
                reference = self.context.run.write_output(state.id, text)
                update = {"output_ref": reference, "task_runs": ()}
                self.context.run.save_step(state.model_copy(update=update))


def _is_bounded(run: RunStore, step: str) -> bool:
    """Whether something of a part was refused or ended by its run's bounds."""
    return any(
        root_of(state.id) == step and state.category is Category.BUDGET
        for state in OtherRun.of(run, is_part=True).states.values()
    )


def _lost_words(part: RunPart, run: RunStore, state: str, message: str) -> str:
    """Say why a part's run has no result."""
    words = f"Flow run {part.flow_run} on the work pool {part.pool} is {state}"
    if message:
        return f"{words}: {one_line(message, 300)}"
    return f"{words}, and {run.place()} has no result of it."
