"""Members of steps, which are instances, rounds and inner steps: counted, joined, listed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from ..gates import format_diagnostics
from ..plan.ids import parse_id, sort_key
from ..plan.schedule_events import OVER, StepStatus
from ..store.attempt import Attempt
from ..store.step import StepState
from ..text import dollars, duration, one_line, plural
from .page import Block, Members, Paragraph, Ref, StepView, Text, bounded_table

__all__ = [
    "MOST_LANES",
    "MOST_MEMBERS",
    "MOST_STEP_PAGES",
    "by_parent",
    "folded",
    "folded_states",
    "lane_states",
    "member_blocks",
    "needs_within",
    "ranges",
    "span_words",
    "stands_out",
    "step_page_names",
    "tally_words",
    "top_level",
    "word_of",
    "worth_a_look_first",
]


MOST_MEMBERS = 200
"""Rows of a table of members; failures that have no row are named below it."""
MOST_LANES = 8
"""Members that have lines of their own in a timeline; more of them share their step's."""


class _Placed(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def parent(self) -> str: ...


_P = TypeVar("_P", bound=_Placed)


def by_parent(steps: Iterable[_P]) -> dict[str, list[_P]]:
    """Return the members of each step that has some, by its id; those of "" are the plan's own.

    A member whose step isn't there counts as a step of the plan.
    """
    steps = list(steps)
    known = {step.id for step in steps}
    found: dict[str, list[_P]] = {}
    for step in steps:
        found.setdefault(step.parent if step.parent in known else "", []).append(step)
    return found


def top_level(steps: Iterable[_P]) -> list[_P]:
    """Return the steps of the plan itself."""
    return by_parent(steps).get("", [])


def _behind(step: str, members: Mapping[str, Sequence[_P]]) -> Iterable[_P]:
    """Yield all members of a step, theirs behind each."""
    waiting = [*reversed(members.get(step, ()))]
    while waiting:
        member = waiting.pop()
        yield member
        waiting.extend(reversed(members.get(member.id, ())))


def folded_states(steps: Sequence[StepState]) -> list[StepState]:
    """Return the plan's own steps, each with all attempts at its members, in their order."""
    members = by_parent(steps)
    return [_joined(step, [*_behind(step.id, members)]) for step in members.get("", [])]


def _joined(step: StepState, inside: Sequence[StepState]) -> StepState:
    """Return a step with all attempts at what is inside it, in their order."""
    if not inside:
        return step
    attempts = [attempt for each in inside for attempt in each.attempts]
    attempts.sort(key=lambda attempt: (attempt.started_at, attempt.ended_at))
    is_critical = step.critical or any(each.critical for each in inside)
    return step.model_copy(update={"attempts": tuple(attempts), "critical": is_critical})


def folded(steps: Sequence[StepView], within: str = "") -> tuple[StepView, ...]:
    """Return steps with all attempts at their members, which are counted, and without these.

    Args:
        steps: All steps of a run.
        within: The step whose members are returned; "" for the steps of the plan.
    """
    members = by_parent(steps)
    return tuple(_with_members(step, members) for step in members.get(within, ()))


def _with_members(step: StepView, members: Mapping[str, Sequence[StepView]]) -> StepView:
    own = members.get(step.id)
    if not own:
        return step
    inside = [*_behind(step.id, members)]
    state = _joined(step.state, [each.state for each in inside])
    statuses: Counter[StepStatus] = Counter(each.status for each in own)
    failed = tuple(each.id for each in own if each.status == "failed")
    running = tuple(each.running for each in inside if each.running is not None)
    counted = Members(word_of(own[0].id), statuses, failed, running)
    words = "; ".join(filter(None, [tally_words(counted), _said_of(step)]))
    return replace(step, state=state, members=counted, why=words)


def _said_of(step: StepView) -> str:
    """Say what else is known of a step with members: what its summary adds, or why it failed."""
    if step.state.summary:
        # It begins with a count, which stands there already.
        first, _, rest = step.state.summary.partition("; ")
        return rest if " succeeded" in first else step.state.summary
    return step.state.reason if step.status in ("failed", "skipped") else ""


def word_of(member: str) -> str:
    """Say what a member is to its step, by its id: `instance`, `round` or `step`."""
    try:
        last = parse_id(member)[-1]
    except ValueError:
        return "step"
    return "round" if last.round else "instance" if last.items else "step"


MOST_STEP_PAGES = 500
"""Steps of a run that have a page of their own in a document; `inspect --step` shows any."""


def stands_out(step: StepState) -> bool:
    """Say whether a step is worth a page among many: the first attempt of others succeeded."""
    return step.status == "failed" or len(step.attempts) > 1 or step.truncated or bool(step.change)


def step_page_names(steps: Sequence[StepState]) -> frozenset[str]:
    """Return the ids of the steps that have a page in a document.

    Of a plan that is very long they are those that failed, the first ones, and members where there
    is room for all of them, else those that stand out.
    """
    if len(steps) <= MOST_STEP_PAGES:
        return frozenset(step.id for step in steps)
    known = {step.id for step in steps}
    failed = [step.id for step in steps if step.status == "failed"]
    own = [step.id for step in steps if step.parent not in known]
    members = [step for step in steps if step.parent in known]
    shown = [step.id for step in members if stands_out(step)]
    return frozenset([*dict.fromkeys([*failed, *own, *shown])][:MOST_STEP_PAGES])


_SHORT = 40
_FIRST: Mapping[StepStatus, int] = {
    "failed": 0,
    "asked": 1,
    "running": 2,
    "cancelled": 3,
    "skipped": 4,
}


def worth_a_look_first(steps: Sequence[StepView]) -> Sequence[StepView]:
    """Return a long list of steps with those first that failed or go on, and a short one as it is.

    A step's members stay behind it: it stands as far in front as the first of them.
    """
    if len(steps) <= _SHORT:
        return steps
    members = by_parent(steps)
    ordered = sorted(members.get("", []), key=lambda step: _place(step, members))
    return [each for step in ordered for each in (step, *_behind(step.id, members))]


def _place(step: StepView, members: Mapping[str, Sequence[StepView]]) -> int:
    group = (step, *_behind(step.id, members))
    return min(_FIRST.get(each.status, len(_FIRST)) for each in group)


def tally_words(members: Members) -> str:
    """Say how far the members of a step are: `17 of 20 instances done, 2 failed, 1 running`."""
    total = sum(members.statuses.values())
    done = members.statuses.get("succeeded", 0)
    parts = [f"{done:,} of {plural(total, members.word)} done"]
    parts += [
        f"{count:,} {status}" for status in _COUNTED if (count := members.statuses.get(status, 0))
    ]
    return ", ".join(parts)


_COUNTED: tuple[StepStatus, ...] = ("failed", "running", "asked", "skipped", "cancelled")


def needs_within(
    upstream: Mapping[str, Sequence[str]], parents: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return what each step waited for, with its members before a step, and it before its own.

    A step without work of its own stands for the end of its members: what needs it needs them. The
    order is such that each step stands after those that it needs.

    Args:
        upstream: What each step needs, in the plan's order, members behind their step.
        parents: The step that each one is a member of; "" or none for a step of the plan.
    """
    members: dict[str, list[str]] = {}
    for name in upstream:
        above = parents.get(name, "")
        members.setdefault(above if above in upstream else "", []).append(name)
    found: dict[str, tuple[str, ...]] = {}
    needs: dict[str, tuple[str, ...]] = {"": ()}
    waiting = [(name, "", False) for name in reversed(members.get("", []))]
    while waiting:
        name, above, is_over = waiting.pop()
        if is_over:
            found[name] = (*needs[name], *members.get(name, ()))
            continue
        own = upstream[name]
        # Who follows an instance of another step doesn't wait for the whole of that.
        followed = {parents.get(each) for each in own}
        inherited = (each for each in needs[above] if each not in followed)
        needs[name] = tuple(dict.fromkeys((*own, *inherited)))
        waiting.append((name, above, True))
        waiting.extend((each, name, False) for each in reversed(members.get(name, [])))
    return found


def lane_states(steps: Sequence[StepState]) -> list[tuple[StepState, int]]:
    """Return the steps that have a line of a timeline, and how many members share it.

    Members of a step that has few have their own; those of others share the step's.
    """
    members = by_parent(steps)
    found: list[tuple[StepState, int]] = []
    for step in members.get("", []):
        inside = [*_behind(step.id, members)]
        ran = [each for each in inside if each.attempts]
        if len(ran) > MOST_LANES:
            found.append((_joined(step, inside), len(ran)))
        else:
            found += [(each, 0) for each in ran or [step]]
    return found


_COLUMNS = ("Status", "Id", "Item", "Tries", "Work", "Tokens", "Cost", "Gates", "Says")
_SAID = 200


def member_blocks(steps: Sequence[StepView], within: StepView) -> list[Block]:
    """Write a table of a step's members, failures first; nothing for a step without members.

    Args:
        steps: All steps of a run.
        within: The step.
    """
    members = folded(steps, within.id)
    if not members:
        return []
    word = word_of(members[0].id)
    statuses: Counter[StepStatus] = Counter(each.status for each in members)
    # Once it is over its summary says it.
    tally = f"{tally_words(Members(word, statuses))}."
    blocks: list[Block] = (
        [] if within.state.summary and within.status in OVER else [Paragraph((tally,))]
    )
    ordered = list(members)
    if word == "instance" or len(members) > MOST_MEMBERS:
        ordered.sort(key=lambda each: _FIRST.get(each.status, len(_FIRST)))
    header = (_COLUMNS[0], word.capitalize(), *_COLUMNS[2:])
    blocks.append(bounded_table(header, [_row(each) for each in ordered], MOST_MEMBERS))
    rest = [each.id for each in ordered[MOST_MEMBERS:] if each.status == "failed"]
    if rest:
        blocks.append(Paragraph((f"Failed, too: {ranges(rest)}.",)))
    return blocks


def _row(step: StepView) -> tuple[Text, ...]:
    tries = step.state.attempts
    usages = [attempt.usage for attempt in tries]
    costs = [usage.cost_usd for usage in usages if usage.requests]
    known = [cost for cost in costs if cost is not None]
    tokens = sum(usage.tokens for usage in usages)
    return (
        step.status_words,
        Ref(step.id, step.id),
        one_line(step.state.label, 60),
        str(len(tries)) if tries else "",
        duration(step.state.work_s) if tries else "",
        f"{tokens:,}" if tokens else "",
        dollars(sum(known)) if known and len(known) == len(costs) else "",
        _gates(tries) if step.members is None else "",
        one_line(_says(step), _SAID),
    )


def _gates(tries: Sequence[Attempt]) -> str:
    """Name the gates that the last attempt didn't pass, or count those that it did."""
    gates = tries[-1].gates if tries else ()
    stopped = [gate for gate in gates if gate.stops]
    if stopped:
        return one_line(
            "; ".join(f"{gate.gate}: {format_diagnostics(gate.diagnostics)}" for gate in stopped),
            60,
        )
    passed = sum(gate.status == "passed" for gate in gates)
    return f"{passed} passed" if passed else ""


def _says(step: StepView) -> str:
    if step.status in OVER and step.status != "succeeded":
        return step.state.reason or step.why
    return step.why or step.state.excerpt


def ranges(steps: Iterable[str]) -> str:
    """Name steps briefly: `S2[3], S2[201] to S2[1000]`. Only those that follow one another join."""
    spans: list[list[str]] = []
    for name in _sorted(steps):
        if spans and _follows(spans[-1][-1], name):
            spans[-1].append(name)
        else:
            spans.append([name])
    return ", ".join(
        f"{span[0]} to {span[-1]}" if len(span) > 2 else ", ".join(span) for span in spans
    )


def _sorted(steps: Iterable[str]) -> list[str]:
    names = list(dict.fromkeys(steps))
    try:
        return sorted(names, key=sort_key)
    except ValueError:
        return names


def _follows(before: str, after: str) -> bool:
    """Whether an id is the next one in the last of its numbers."""
    try:
        *outer, last = sort_key(before)
        *others, then = sort_key(after)
    except ValueError:
        return False
    return outer == others and (*last[:-1], last[-1] + 1) == then


def span_words(names: Sequence[str]) -> str:
    """Say which ids there are, of many the first and the last."""
    if not names:
        return "none"
    return ", ".join(names) if len(names) <= 2 else f"{names[0]} to {names[-1]}"
