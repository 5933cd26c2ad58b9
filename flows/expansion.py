"""Steps with members: their conditions, items, rounds and inner steps, as the run has them now."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..errors import Category, ItemsError, RunDamagedError
from ..metrics.clock import run_time
from ..plan.compile import CompiledStep
from ..plan.conditions import describe_condition, holds
from ..plan.digests import member_digest, planned_digests, text_digest
from ..plan.expand import followers_of, inner_steps, instances_of, needed_of, round_of
from ..plan.items import (
    Item,
    ItemSelection,
    digest_of,
    file_items,
    is_pattern,
    item_of,
    items_in,
    key_of,
    names_matching,
    rows_of,
    select_items,
)
from ..plan.output import StepOutput
from ..plan.pointers import MISSING
from ..plan.program import ForEach, Repeat
from ..plan.schedule_events import EndStatus, Expanded
from ..store.approvals import Approvals
from ..store.events import ExpandedEvent
from ..store.question import Question, is_approval
from ..store.step import StepState
from ..text import one_line, plain_words, plural
from ..untrusted.json_text import NoJsonError, read_json
from .context import RunContext, planned_steps
from .estimate import least_of_members, shortage
from .members import StoredItems, members_stored, restore_members, set_members_aside

__all__ = ["Expansions"]

_logger = logging.getLogger("prefect_swarm.runs")
_MOST_NAMES = 300
"""Characters of inputs' names in an error."""


@dataclass(slots=True)
class Expansions:
    """Works out conditions and members. What it finds is stored before the schedule gets it."""

    context: RunContext
    _digests: dict[str, str] = field(init=False)
    _input_digests: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._digests = {}
        self.take_plan()

    def take_plan(self) -> None:
        """Take the plan as it is now, with what was added to it."""
        plan = self.context.plan
        # Only members are told apart by them, and the texts of inputs may be long.
        has_members = any(step.is_group for step in plan.steps)
        inputs = plan.inputs if has_members else ()
        self._digests |= planned_digests(plan) if has_members else {}
        self._input_digests = {name: text_digest(text) for name, text in inputs}

    def decide(self, step: CompiledStep) -> bool:
        """Say whether a step's condition holds; where it doesn't, the step's state says why."""
        condition = step.when
        if condition is None or holds(condition, self._value_of):
            return True
        self.context.records[step.id].skip_by_condition(
            f"its condition doesn't hold: {describe_condition(condition)}"
        )
        return False

    async def expand(self, step: CompiledStep) -> Expanded:
        """Return the members that a step gets now, after they are stored."""
        if (ended := self.context.followed.end_without_members(step.id)) is not None:
            self.context.records[step.id].take_end(ended)
            return Expanded(step.id, outcome="failed")
        if step.for_each is not None:
            return await self._instances(step, step.for_each)
        if step.repeat is not None:
            return await self._round(step, step.repeat)
        states = self._states(step, inner_steps(step))
        final = f"{step.id}.{step.final}"
        return await self._expanded(step, states, counted=(final,), needed=1)

    async def close(self, step: str, status: EndStatus) -> None:
        """Give a step with members its output, from theirs."""
        record = self.context.records[step]
        output = self._output_of(record) if status == "succeeded" else None
        ref = ""
        if output is not None:
            ref = await asyncio.to_thread(self.context.run.write_output, step, output.text)
        members = [self.context.records[name] for name in record.members]
        task_runs = [run for member in members for run in member.task_runs]
        lost = [member for member in members if member.status in ("failed", "skipped")]
        note = _note(record, members, lost)
        if output is None and not record.reason:
            record.end(note)
        record.close(output, ref, task_runs, note)

    # --- for each -----------------------------------------------------------------------------

    async def _instances(self, step: CompiledStep, for_each: ForEach) -> Expanded:
        if step.follows:
            followed = self.context.records[step.follows]
            if not followed.members and followed.status != "succeeded":
                reason = f"{followed.id} has no instances, and this step follows them"
                self.context.records[step.id].end(reason, Category.UPSTREAM)
                return Expanded(step.id, outcome="failed")
            members = followers_of(step, [self.context.records[n].step for n in followed.members])
            states = self._states(step, members)
            basis = text_digest(*(state.asked for state in states.values()))
            if await asyncio.to_thread(self._stored_items, step, basis) is None:
                found = StoredItems(step=step.id, basis=basis)
                await asyncio.to_thread(self.context.run.write_record, "expansion", found, step.id)
            return await self._counted(step, for_each, states)
        try:
            found = await self._items(step, for_each)
        except ItemsError as error:
            self.context.records[step.id].end(str(error), error.category)
            return Expanded(step.id, outcome="failed")
        if isinstance(found, Question):
            return Expanded(step.id, outcome="asked", questions=(found.id,))
        self.context.records[step.id].summarise(found.note)
        states = self._states(step, instances_of(step, found.items))
        return await self._counted(step, for_each, states)

    async def _counted(
        self, step: CompiledStep, for_each: ForEach, states: Mapping[str, StepState]
    ) -> Expanded:
        needed = needed_of(for_each, len(states))
        return await self._expanded(step, states, tuple(states), needed)

    async def _items(self, step: CompiledStep, for_each: ForEach) -> StoredItems | Question:
        """Return the items of a step, or what a person has to decide before they are known.

        Raises:
            ItemsError: There are none that can be read, or too many.
        """
        run = self.context.run
        basis = await asyncio.to_thread(self._basis, step, for_each)
        if (stored := await asyncio.to_thread(self._stored_items, step, basis)) is not None:
            return stored
        # An output of 10,000 items takes its time to read.
        selection = await asyncio.to_thread(
            lambda: select_items(for_each, list(self._all_items(step, for_each)))
        )
        chosen = selection.items
        if selection.asks:
            question = self._question(step, for_each, selection)
            answer = Approvals(run).decision(question.id, question.subject)
            if answer is None:
                return Approvals(run).ask(question)
            if not is_approval(answer):
                raise ItemsError(f"A person decided against so many items. {answer.words}")
            chosen = (*selection.items, *selection.rest)
        over = len(selection.items) + len(selection.rest) - len(chosen)
        notes = [
            f"{plural(count, 'item')} {words}"
            for count, words in (
                (selection.unmet, "didn't meet `where`"),
                (selection.repeated, "had the key of an earlier one"),
                (over, "were over max_items"),
            )
            if count
        ]
        found = StoredItems(step=step.id, basis=basis, items=chosen, note=", ".join(notes))
        await asyncio.to_thread(run.write_record, "expansion", found, step.id)
        return found

    def _stored_items(self, step: CompiledStep, basis: str) -> StoredItems | None:
        """Return the items that were found before in the same; None if they are to be found.

        What is finished for other ones is set aside before.
        """
        run = self.context.run
        try:
            stored = run.record("expansion", StoredItems, step.id)
        except RunDamagedError as error:
            _logger.warning("%s The items are looked for again.", error.problem)
        else:
            if stored is None or stored.basis == basis:
                return stored
        set_members_aside(run, step.id)
        return None

    def _basis(self, step: CompiledStep, for_each: ForEach) -> str:
        rules = for_each.model_dump_json(exclude={"items"} if step.source else None)
        if step.source:
            output = self.context.records[step.source].output
            return text_digest(rules, output.text if output is not None else "")
        texts = dict(self.context.plan.inputs)
        is_named = isinstance(for_each.items, str) and for_each.items in texts
        return text_digest(rules, *([texts[str(for_each.items)]] if is_named else texts))

    def _question(
        self, step: CompiledStep, for_each: ForEach, selection: ItemSelection
    ) -> Question:
        items = (*selection.items, *selection.rest)
        subject = hashlib.sha256("".join(map(digest_of, items)).encode()).hexdigest()
        count, most = len(items), for_each.max_items
        names = "\n".join(f"- {plain_words(item.label)}" for item in items[:_SHOWN])
        more = f"\n- and {count - _SHOWN:,} more" if count > _SHOWN else ""
        what = f"Approve to do {step.id} for all {count:,} items; reject to let it fail."
        return Question(
            id=f"{step.id}.items",
            asked="items",
            subject=subject,
            step=step.id,
            attempt=1,
            title=f"{step.id} has {count:,} items, and max_items is {most:,}",
            text=f"{what}\n\n{names}{more}",
            at=run_time(),
        )

    def _all_items(self, step: CompiledStep, for_each: ForEach) -> Iterator[Item]:
        items, at = for_each.items, for_each.at or ""
        if not isinstance(items, str):
            yield from (item_of(value, trusted=True) for value in items)
        elif step.source:
            record = self.context.records[step.source]
            text = record.output.text if record.output is not None else ""
            yield from map(item_of, items_in(text, at, f"output of {step.source}"))
        else:
            texts = dict(self.context.plan.inputs)
            if items in texts:
                yield from map(item_of, rows_of(items, texts[items], at))
            elif is_pattern(items) and (names := names_matching(items, texts)):
                yield from file_items(names)
            else:
                has = one_line(", ".join(texts), _MOST_NAMES) or "none"
                raise ItemsError(
                    f"No input matches {items!r}. The inputs are: {has}.",
                    "Give the files (--file), or correct the name.",
                )

    # --- repeat -------------------------------------------------------------------------------

    async def _round(self, step: CompiledStep, repeat: Repeat) -> Expanded:
        record = self.context.records[step.id]
        rounds = [self.context.records[name] for name in record.members]
        if rounds:
            last = rounds[-1]
            if last.output is None:
                return self._ended(record, rounds[:-1], repeat, f"round {len(rounds)} failed")
            try:
                is_done = self._is_done(repeat, rounds)
            except ItemsError as error:
                return self._ended(record, rounds[:-1], repeat, str(error))
            if is_done:
                record.summarise(f"ended after {plural(len(rounds), 'round')}: {_end_of(repeat)}")
                return Expanded(step.id, outcome="succeeded")
            if len(rounds) >= repeat.max_rounds:
                count = plural(len(rounds), "round")
                reason = f"after {count} its end was not reached: {_end_of(repeat)}"
                return self._ended(record, rounds, repeat, reason)
        states = self._states(step, (round_of(step, len(rounds) + 1),))
        return await self._expanded(step, states, is_complete=False)

    def _ended(
        self, record: StepState, rounds: list[StepState], repeat: Repeat, reason: str
    ) -> Expanded:
        """End a repetition that has not reached its end."""
        if repeat.at_end == "partial" and rounds:
            record.summarise(f"partial: {reason}")
            return Expanded(record.id, outcome="succeeded")
        record.end(reason, Category.LOGIC)
        return Expanded(record.id, outcome="failed")

    def _is_done(self, repeat: Repeat, rounds: list[StepState]) -> bool:
        if repeat.until == "no_new_items":
            *before, last = [self._found(repeat, each) for each in rounds]
            seen = {key for found in before for key, _ in found}
            return all(key in seen for key, _ in last)
        value = _value(rounds[-1].output)
        return holds(repeat.until, lambda step: value if step is None else MISSING)

    def _found(self, repeat: Repeat, round_: StepState) -> list[tuple[str | None, Any]]:
        text = round_.output.text if round_.output is not None else ""
        values = items_in(text, repeat.at, f"output of {round_.id}")
        return [(key_of(value, repeat.key), value) for value in values]

    # --- outputs ------------------------------------------------------------------------------

    def _output_of(self, record: StepState) -> StepOutput | None:
        step = record.step
        members = [self.context.records[name] for name in record.members]
        done = [member.output for member in members if member.output is not None]
        if step.for_each is not None:
            outputs = list(self.context.outputs_of(step.id))
            read = [state.output for state in self.context.read_of(step.id)]
            return _joined(step, outputs, [output for output in read if output is not None])
        if step.repeat is not None:
            if step.repeat.until == "no_new_items":
                return self._gathered(step, step.repeat, members)
            return _renamed(done[-1], step) if done else None
        final = self.context.records[f"{step.id}.{step.final}"].output
        return _renamed(final, step) if final is not None else None

    def _gathered(self, step: CompiledStep, repeat: Repeat, rounds: list[StepState]) -> StepOutput:
        values: dict[str, Any] = {}
        for each in rounds:
            # A round without a list has ended the repetition.
            with suppress(ItemsError):
                for key, value in self._found(repeat, each) if each.output is not None else ():
                    values.setdefault(key or f"none {len(values)}", value)
        text = json.dumps(list(values.values()), ensure_ascii=False, indent=2)
        return StepOutput(name=step.id, agent=step.agent, kind="json", text=text)

    async def _expanded(
        self,
        step: CompiledStep,
        states: Mapping[str, StepState],
        counted: tuple[str, ...] = (),
        needed: int = 0,
        *,
        is_complete: bool = True,
    ) -> Expanded:
        members = tuple(state.step for state in states.values())
        restored = await asyncio.to_thread(restore_members, self.context.run, states)
        is_done = self.context.followed.has(step.id)
        if not (restored or is_done) and (problem := await self._problem(step, members)):
            self.context.records[step.id].end(problem, Category.BUDGET)
            return Expanded(step.id, outcome="failed")
        self.context.records.update(states)
        self.context.records[step.id].add_members([*states])
        note = self.context.records[step.id].summary
        self.context.emit(ExpandedEvent(step=step.id, note=note, steps=planned_steps(members)))
        wanted = "steps" in self.context.options.approve and not is_done
        approval = frozenset(member.id for member in members if wanted and member.approval)
        return Expanded(step.id, members, restored, approval, counted, needed, is_complete)

    def _states(self, step: CompiledStep, members: Sequence[CompiledStep]) -> dict[str, StepState]:
        """Return the states of members that haven't begun, by their ids."""
        states: dict[str, StepState] = {}
        for member in members:
            inputs = self.context.plan.inputs_of(member)
            digests = [(name, self._input_digests[name]) for name, _ in inputs]
            asked = self._digests[member.id] = member_digest(member, digests, self._digests)
            states[member.id] = StepState.of(member, step.id, asked)
        return states

    async def _problem(self, step: CompiledStep, members: Sequence[CompiledStep]) -> str:
        """Say why none of the members is begun; "" if they are.

        Where something of them is done it is kept: what is left is refused one by one.
        """
        problem, run = self._budget_problem(members), self.context.run
        if problem and await asyncio.to_thread(lambda: any(members_stored(run, step.id))):
            return ""
        return problem

    def _budget_problem(self, members: Sequence[CompiledStep]) -> str:
        """Say why the run can't afford to begin with so many members; "" if it can.

        What they read at the least is known: instructions, prompts, items and inputs.
        """
        context, ledger = self.context, self.context.ledger
        budget = ledger.budget
        if len(members) < 2 or (budget.max_tokens is None and budget.max_usd is None):
            return ""
        needed = least_of_members(
            members, context.plan, context.sizes, context.options, ledger.prices.get
        )
        problem = shortage(budget, ledger.spent, needed)
        return problem and f"its {plural(len(members), 'member')} would {problem}"

    def _value_of(self, step: str | None) -> object:
        record = self.context.records.get(step or "")
        return MISSING if record is None else _value(record.output)


def _value(output: StepOutput | None) -> object:
    """Return an output as a condition looks at it; MISSING where there is none."""
    if output is None:
        return MISSING
    if output.kind == "json":
        try:
            return read_json(output.text)
        except NoJsonError:
            return output.text
    return output.text.strip()


def _joined(
    step: CompiledStep, outputs: list[StepOutput], made: Sequence[StepOutput]
) -> StepOutput:
    """Join the outputs of instances: a JSON list where all are JSON, else a text with headings.

    Args:
        outputs: What each instance made; of one that failed, why.
        made: Those that were made. No other stands in a list, whose elements have to be alike.
    """
    values = [_value(output) for output in made if output.kind == "json"]
    if len(values) == len(made):
        text = json.dumps(values, ensure_ascii=False, indent=2)
        return StepOutput(name=step.id, agent=step.agent, kind="json", text=text)
    parts = (f"## {output.label or output.name}\n\n{output.text}" for output in outputs)
    return StepOutput(name=step.id, agent=step.agent, text="\n\n".join(parts))


def _renamed(output: StepOutput, step: CompiledStep) -> StepOutput:
    return output.model_copy(update={"name": step.id})


def _end_of(repeat: Repeat) -> str:
    if repeat.until == "no_new_items":
        return "nothing new was found"
    return describe_condition(repeat.until)


_NAMED = 5
_SHOWN = 20


def _note(record: StepState, members: list[StepState], lost: list[StepState]) -> str:
    parts = [record.summary] if record.summary else []
    if record.step.for_each is not None:
        done = sum(member.status == "succeeded" for member in members)
        parts.insert(0, f"{done} of {plural(len(members), 'instance')} succeeded")
    if lost:
        names = ", ".join(member.id for member in lost[:_NAMED])
        more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        parts.append(f"without {names}{more}")
    return "; ".join(parts)
