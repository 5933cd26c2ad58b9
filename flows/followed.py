"""Steps that other runs do: a run that does a part of another one, and the one that follows it.

The run of a part takes the ends of the steps above from the run that it does it for; that one takes
the ends of the part's members in its turn. What is expanded, decided and joined of them is worked
out anew in each, from the same ends, so that both come to the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import Category
from ..plan.ids import root_of
from ..plan.schedule_events import AttemptFinished
from ..store.protocol import RunStore
from ..store.step import StepState, TakenFrom
from .members import states_stored, take_items

__all__ = ["FollowedSteps", "OtherRun"]


@dataclass(frozen=True, slots=True)
class OtherRun:
    """A run whose ends of steps count in this one.

    Attributes:
        states: Its steps, by their ids.
        is_part: Whether it does a part of this run; else this run does a part of that one.
    """

    run: RunStore
    states: Mapping[str, StepState]
    is_part: bool

    @classmethod
    def of(cls, run: RunStore, *, is_part: bool) -> OtherRun:
        """Return a run as it is stored now."""
        return cls(run, {state.id: state for state in states_stored(run)}, is_part)

    def take(self, here: RunStore, record: StepState) -> AttemptFinished:
        """Give a step the end that it had in that run, and write its output into this one."""
        found = self.states.get(record.id)
        text = self.run.output(record.id) if found and found.status == "succeeded" else None
        if found is None or (found.status == "succeeded" and text is None):
            record.end(f"run {self.run.run_id} has lost its output", Category.INFRASTRUCTURE)
            return AttemptFinished(record.id, "failed")
        if not self.is_part:
            # What it took is the other run's to count.
            found = found.model_copy(update={"attempts": ()})
        if text is None:
            record.take_end(found)
            if found.status in ("unfinished", "cancelled"):
                record.end(f"run {self.run.run_id} did not end it", Category.INFRASTRUCTURE)
            return AttemptFinished(record.id, "skipped" if found.status == "skipped" else "failed")
        reference = here.write_output(record.id, text)
        origin = TakenFrom(run=self.run.run_id, output_ref=self.run.output_ref(record.id))
        update = {
            "output_ref": reference,
            "task_runs": (),
            "taken_from": None if self.is_part else found.taken_from or origin,
        }
        record.restore(found.model_copy(update=update), text)
        return AttemptFinished(record.id, "succeeded")


@dataclass(slots=True)
class FollowedSteps:
    """Which steps of a run other runs have done.

    Attributes:
        above: The run for which this one does a part; None if it does none.
        own: The step that it does.
        parts: The runs that have done a part of this one, by their steps.
    """

    above: OtherRun | None = None
    own: str = ""
    parts: dict[str, OtherRun] = field(default_factory=dict[str, OtherRun])

    def has(self, step: str) -> bool:
        """Whether another run did a step, or all members of it."""
        root = root_of(step)
        return root in self.parts or (self.above is not None and root != self.own)

    def run_of(self, record: StepState) -> OtherRun | None:
        """Return the run whose end of a step counts; None if it is to be done here."""
        root = root_of(record.id)
        if (part := self.parts.get(root)) is not None:
            return part
        above = self.above
        if above is None or root != self.own:
            return above
        # A member that an earlier run of the part has finished is not done again.
        done = above.states.get(record.id)
        if done is None or done.status != "succeeded" or not done.asked:
            return None
        return above if done.asked == record.asked else None

    def end_without_members(self, step: str) -> StepState | None:
        """Return the end of a step with members that had none; None if it had some."""
        if not self.has(step):
            return None
        run = self.parts.get(root_of(step)) or self.above
        state = run.states.get(step) if run else None
        if run is None or state is None or state.status == "succeeded":
            return None
        return None if any(each.parent == step for each in run.states.values()) else state

    def follow_part(self, here: RunStore, step: str, run: RunStore) -> None:
        """Take the ends of a step's members from the run that did it."""
        take_items(run, here, step)
        self.parts[step] = OtherRun.of(run, is_part=True)
