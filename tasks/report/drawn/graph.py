"""A run's graph: a card a step, or a grid of steps that are alike, and what needs what. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....text import one_line, plural
from ..view import RunView, StepView
from .alike import alike, without_shortcuts
from .labels import fitted, safe, seconds
from .layered import PlacedBox, PlacedGraph, lay_out
from .look import Theme
from .templates_of import drawn

__all__ = ["LEAST_ALIKE", "MOST_BOXES", "graph_says", "graph_svg"]

MOST_BOXES = 400
"""Cards and grids that a graph is drawn of; a larger plan stands in the table alone."""

_CARD = (200.0, 50.0)
_LINE = (200.0, 28.0)  # a card of a large plan, without what stands below
_MANY = 60
_CHIP = (60.0, 26.0)
_GAP, _PAD, _TITLE = 6.0, 10.0, 24.0
LEAST_ALIKE = 5
"""Steps of a grid at least."""
_MOST_ARROWS = 250
_HEAD, _BELOW = 22, 27


@dataclass(frozen=True, slots=True)
class _Card:
    """A step where it is drawn. `small` is a step of a grid, which has room for its id alone."""

    step: StepView
    at: PlacedBox
    small: bool = False

    @property
    def head(self) -> str:
        if self.small:
            return fitted(self.step.id, 6)
        return fitted(f"{self.step.id} {self.step.result.agent}", _HEAD)

    @property
    def below(self) -> str:
        has_room = self.at.height >= _CARD[1]
        return fitted(f"{self.step.status}{took(self.step)}", _BELOW) if has_room else ""

    @property
    def title(self) -> str:
        step = self.step
        why = f" {step.why}." if step.why else ""
        path = " It is on the critical path." if step.result.critical else ""
        name = f"{step.id} · {step.result.agent}: {step.status}{took(step)}."
        return safe(f"{name}{path}{why} {one_line(step.result.prompt, 160)}")


@dataclass(frozen=True, slots=True)
class _Grid:
    at: PlacedBox
    title: str


@dataclass(frozen=True, slots=True)
class _Arrow:
    path: str
    critical: bool


def graph_svg(view: RunView, theme: Theme = "auto", *, anchor: str = "") -> str:
    """Draw the steps and what needs what; "" if there are no steps, or too many.

    Args:
        view: The run.
        theme: Whose colours it has.
        anchor: What a step's id follows in the place that it leads to; "" for no links.
    """
    upstream = {step.id: _known(step, view) for step in view.steps}
    groups = alike(upstream, LEAST_ALIKE)
    if not groups or len(groups) > MOST_BOXES:
        return ""
    steps = {step.id: step for step in view.steps}
    place = {member: group[0] for group in groups for member in group}
    needs = {
        group[0]: tuple(dict.fromkeys(place[name] for name in upstream[group[0]]))
        for group in groups
    }
    if is_reduced := sum(map(len, needs.values())) > _MOST_ARROWS:
        needs = without_shortcuts(needs)
    layout = lay_out(
        {group[0]: _size(group, _LINE if len(groups) > _MANY else _CARD) for group in groups},
        [(start, end) for end, starts in needs.items() for start in starts],
    )
    inside = {group[0]: group for group in groups}
    note = "Arrows that follow from others are left out." if is_reduced else ""
    return drawn(
        "graph.svg.j2",
        theme,
        width=max(layout.width, 300),
        height=layout.height,
        note=note,
        says=safe(graph_says(view), 600),
        grids=_grids(layout, groups, steps),
        arrows=_arrows(layout, inside, steps),
        cards=[card for group in groups for card in _cards(layout.boxes[group[0]], group, steps)],
        anchor=anchor,
    )


def graph_says(view: RunView) -> str:
    """Say in words what the graph shows."""
    path = " → ".join(step.id for step in view.steps if step.result.critical)
    counts: dict[str, int] = {}
    for step in view.steps:
        counts[step.status] = counts.get(step.status, 0) + 1
    shown = ", ".join(f"{count} {status}" for status, count in counts.items())
    ends = f" Critical path: {one_line(path, 300)}." if path else ""
    return f"The graph of {plural(len(view.steps), 'step')}: {shown}.{ends}"


def took(step: StepView) -> str:
    """Say how long a step's attempts worked and how many there were; "" if there were none."""
    tries = step.result.attempts
    if not tries:
        return ""
    again = f", {len(tries)} tries" if len(tries) > 1 else ""
    return f" · {seconds(sum(attempt.duration_s for attempt in tries))}{again}"


def _known(step: StepView, view: RunView) -> tuple[str, ...]:
    """What it needs of the plan, without what a damaged plan names and lacks."""
    before: set[str] = set()
    for other in view.steps:
        if other.id == step.id:
            break
        before.add(other.id)
    return tuple(name for name in dict.fromkeys(step.upstream) if name in before)


def _columns(count: int) -> int:
    return max(2, round((count * 0.6) ** 0.5))


def _size(group: Sequence[str], card: tuple[float, float]) -> tuple[float, float]:
    if len(group) == 1:
        return card
    columns = _columns(len(group))
    rows = -(-len(group) // columns)
    width = columns * (_CHIP[0] + _GAP) - _GAP + 2 * _PAD
    return max(width, 150.0), rows * (_CHIP[1] + _GAP) - _GAP + 2 * _PAD + _TITLE


def _cards(box: PlacedBox, group: Sequence[str], steps: dict[str, StepView]) -> list[_Card]:
    if len(group) == 1:
        return [_Card(steps[group[0]], box)]
    columns = _columns(len(group))
    return [
        _Card(
            steps[name],
            PlacedBox(
                box.x + _PAD + number % columns * (_CHIP[0] + _GAP),
                box.y + _TITLE + _PAD / 2 + number // columns * (_CHIP[1] + _GAP),
                *_CHIP,
            ),
            small=True,
        )
        for number, name in enumerate(group)
    ]


def _grids(
    layout: PlacedGraph, groups: Sequence[Sequence[str]], steps: dict[str, StepView]
) -> list[_Grid]:
    found: list[_Grid] = []
    for group in groups:
        if len(group) > 1:
            agents = {steps[name].result.agent for name in group}
            who = f" · {agents.pop()}" if len(agents) == 1 else ""
            box = layout.boxes[group[0]]
            room = int((box.width - 2 * _PAD) / 6.4)
            found.append(_Grid(box, fitted(f"{len(group)} side by side{who}", room)))
    return found


def _arrows(
    layout: PlacedGraph, inside: Mapping[str, Sequence[str]], steps: dict[str, StepView]
) -> list[_Arrow]:
    critical = {name for name, step in steps.items() if step.result.critical}
    found = [
        _Arrow(_path(points), not critical.isdisjoint(inside[a]) and on_path(inside[b], critical))
        for (a, b), points in layout.arrows.items()
    ]
    return sorted(found, key=lambda arrow: arrow.critical)


def on_path(group: Sequence[str], critical: set[str]) -> bool:
    """Whether a step of a group is on the critical path."""
    return not critical.isdisjoint(group)


def _path(points: Sequence[tuple[float, float]]) -> str:
    """A soft line through some points, which leaves and arrives level."""
    (x, y), *rest = points
    path = f"M{x:.0f} {y:.0f}"
    for next_x, next_y in rest:
        half = (next_x - x) / 2
        path += (
            f"C{x + half:.0f} {y:.0f} {next_x - half:.0f} {next_y:.0f} {next_x:.0f} {next_y:.0f}"
        )
        x, y = next_x, next_y
    return path
