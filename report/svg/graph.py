"""A run's graph: a card a step, or a grid of steps that are alike, and what needs what. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from grandalf.graphs import Edge, Graph, Vertex  # pyright: ignore[reportMissingImports]
from grandalf.layouts import SugiyamaLayout  # pyright: ignore[reportMissingImports]

from ...text import one_line, plural
from ..members import folded, tally_words
from ..page import Members, RunView, StepView
from .theme import Theme, fitted, render_svg, safe, seconds

__all__ = [
    "LEAST_ALIKE",
    "MOST_BOXES",
    "PlacedBox",
    "PlacedGraph",
    "alike",
    "graph_says",
    "graph_svg",
    "lay_out",
    "without_shortcuts",
]


def alike(upstream: Mapping[str, Iterable[str]], least: int) -> list[tuple[str, ...]]:
    """Sort steps into groups, in the order of their first members.

    Args:
        upstream: What each step needs; each step stands after those.
        least: Members of a group at least; the steps of a smaller set are groups of their own.
    """
    downstream: dict[str, set[str]] = {step: set() for step in upstream}
    for step, needs in upstream.items():
        for needed in needs:
            downstream[needed].add(step)
    sets: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
    for step, needs in upstream.items():
        sets.setdefault((frozenset(needs), frozenset(downstream[step])), []).append(step)
    groups = [
        group
        for members in sets.values()
        for group in ([members] if len(members) >= least else [[member] for member in members])
    ]
    place = {step: number for number, step in enumerate(upstream)}
    return sorted(map(tuple, groups), key=lambda group: place[group[0]])


def without_shortcuts(upstream: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Leave out what a step needs that another step which it needs stands behind anyway.

    Args:
        upstream: What each step needs; each step stands after those.
    """
    behind: dict[str, set[str]] = {}
    direct: dict[str, tuple[str, ...]] = {}
    for step, needs in upstream.items():
        indirect = set[str]().union(*(behind[needed] for needed in needs))
        behind[step] = indirect.union(needs)
        direct[step] = tuple(needed for needed in needs if needed not in indirect)
    return direct


_ACROSS, _BEHIND = 14, 64  # between the boxes of a layer, and between layers
_ROUNDS = 1.5
_APART = 28  # between parts of a graph that nothing connects


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """A box: its left upper corner and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PlacedGraph:
    """Boxes by name, arrows as the points that they go through, and the size of all."""

    boxes: Mapping[str, PlacedBox]
    arrows: Mapping[tuple[str, str], tuple[tuple[float, float], ...]]
    width: float
    height: float


class _View:
    """A box as grandalf wants it. It draws downwards, so width and height change places."""

    def __init__(self, size: tuple[float, float]) -> None:
        self.h, self.w = size
        self.xy = (0.0, 0.0)


@dataclass(slots=True)
class _Path:
    points: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def setpath(self, points: list[tuple[float, float]]) -> None:
        self.points = points


class _Sugiyama(SugiyamaLayout):  # pyright: ignore[reportUntypedBaseClass]
    """With conflicts in a set: grandalf looks them up in a list, which takes half of its time."""

    conflicts: Any

    def _detect_alignment_conflicts(self) -> None:
        cast("Any", super())._detect_alignment_conflicts()
        self.conflicts = frozenset(self.conflicts)


def lay_out(
    sizes: Mapping[str, tuple[float, float]], arrows: Sequence[tuple[str, str]]
) -> PlacedGraph:
    """Place boxes of these widths and heights; arrows lead from left to right.

    Args:
        sizes: Width and height of each box, by name.
        arrows: From which box to which; without circles.
    """
    vertices: dict[str, Any] = {name: Vertex(name) for name in sizes}
    for name, vertex in vertices.items():
        vertex.view = _View(sizes[name])
    edges: list[Any] = []
    for start, end in arrows:
        edge = cast("Any", Edge(vertices[start], vertices[end]))
        edge.view = _Path()
        edges.append(edge)
    graph: Any = Graph(list(vertices.values()), edges)
    top, width = 0.0, 0.0
    boxes: dict[str, PlacedBox] = {}
    paths: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {}
    for part in graph.C:
        _place(part)
        views: list[_View] = [vertex.view for vertex in part.V()]
        up = top - min(view.xy[0] - view.w / 2 for view in views)
        left = min(view.xy[1] - view.h / 2 for view in views)
        for vertex in part.V():
            x, y = vertex.view.xy[1] - left, vertex.view.xy[0] + up
            wide, high = sizes[vertex.data]
            boxes[vertex.data] = PlacedBox(x - wide / 2, y - high / 2, wide, high)
        for edge in part.E():
            ends = (edge.v[0].data, edge.v[1].data)
            between = [(y - left, x + up) for x, y in edge.view.points[1:-1]]
            paths[ends] = _between(boxes[ends[0]], boxes[ends[1]], between)
        bottom = max(view.xy[0] + view.w / 2 for view in views) + up
        width = max(width, max(view.xy[1] + view.h / 2 for view in views) - left)
        top = bottom + _APART
    return PlacedGraph(boxes, paths, width, max(0.0, top - _APART))


def _place(part: Any) -> None:
    layout: Any = _Sugiyama(part)
    layout.xspace, layout.yspace = _ACROSS, _BEHIND
    layout.dw = layout.dh = 12
    # A plan has no circles; looking for some would take a recursion as deep as the plan.
    layout.init_all(inverted_edges=[])
    layout.draw(_ROUNDS)


def _between(
    start: PlacedBox, end: PlacedBox, points: list[tuple[float, float]]
) -> tuple[tuple[float, float], ...]:
    first = (start.x + start.width, start.y + start.height / 2)
    last = (end.x, end.y + end.height / 2)
    return (first, *points, last)


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
    """A step where it is drawn. `small` is a step of a grid, which has room for its id alone.

    Attributes:
        turn: The turn of the orchestrator that assigned it; 1 is the plan's.
    """

    step: StepView
    at: PlacedBox
    small: bool = False
    turn: int = 1

    @property
    def label(self) -> str:
        """The turn that assigned it, for above the card; "" where the plan did."""
        return f"turn {self.turn}" if self.turn > 1 and not self.small else ""

    @property
    def head(self) -> str:
        if self.small:
            return fitted(self.step.id, 6)
        return fitted(f"{self.step.id} {self.step.state.agent}", _HEAD)

    @property
    def below(self) -> str:
        if self.at.height < _CARD[1]:
            return ""
        if self.step.members is not None:
            return fitted(_counted(self.step.members), _BELOW)
        status = "by condition" if self.step.state.by_condition else self.step.status
        return fitted(f"{status}{took(self.step)}", _BELOW)

    @property
    def shares(self) -> tuple[float, float] | None:
        """The shares of its members that succeeded and that failed; None without members."""
        members = self.step.members
        if members is None or self.small:
            return None
        total = sum(members.statuses.values())
        done, failed = (members.statuses.get(each, 0) for each in ("succeeded", "failed"))
        return done / total, failed / total

    @property
    def title(self) -> str:
        step = self.step
        why = f" {step.why}." if step.why else ""
        path = " It is on the critical path." if step.state.critical else ""
        name = " · ".join(filter(None, [step.id, step.state.agent]))
        name = f"{name}: {step.status}{took(step)}."
        turn = f" It was assigned in turn {self.turn}." if self.turn > 1 else ""
        return safe(f"{name}{path}{turn}{why} {one_line(step.state.prompt, 160)}")


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
    view = replace(view, steps=folded(view.steps))
    upstream = {step.id: _known(step, view) for step in view.steps}
    groups = alike(upstream, LEAST_ALIKE)
    if not groups or len(groups) > MOST_BOXES:
        return ""
    steps = {step.id: step for step in view.steps}
    turns = {name: view.turn_of(name) for name in steps}
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
    return render_svg(
        "graph.svg.j2",
        theme,
        width=max(layout.width, 300),
        height=layout.height,
        note=note,
        says=safe(graph_says(view), 600),
        grids=_grids(layout, groups, steps, turns),
        arrows=_arrows(layout, inside, steps),
        cards=[
            card for group in groups for card in _cards(layout.boxes[group[0]], group, steps, turns)
        ],
        anchor=anchor,
    )


def graph_says(view: RunView) -> str:
    """Say in words what the graph shows."""
    steps = folded(view.steps)
    path = " → ".join(step.id for step in steps if step.state.critical)
    counts: dict[str, int] = {}
    for step in steps:
        counts[step.status] = counts.get(step.status, 0) + 1
    shown = ", ".join(f"{count} {status}" for status, count in counts.items())
    within = "".join(
        f" {step.id}: {tally_words(step.members)}." for step in steps if step.members is not None
    )
    ends = f" Critical path: {one_line(path, 300)}." if path else ""
    return f"The graph of {plural(len(steps), 'step')}: {shown}.{one_line(within, 300)}{ends}"


def took(step: StepView) -> str:
    """Say how long a step's attempts worked and how many there were; "" if there were none."""
    tries = step.state.attempts
    if not tries:
        return ""
    is_again = len(tries) > 1 and step.members is None
    again = f", {len(tries)} tries" if is_again else ""
    return f" · {seconds(step.state.work_s)}{again}"


def _counted(members: Members) -> str:
    """Count members in the room of a card: `17 of 20 done, 2 failed`."""
    total, done = sum(members.statuses.values()), members.statuses.get("succeeded", 0)
    failed = f", {len(members.failed):,} failed" if members.failed else ""
    rounds = f" {members.word}s" if members.word == "round" else ""
    return f"{done:,} of {total:,}{rounds} done{failed}"


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


def _cards(
    box: PlacedBox,
    group: Sequence[str],
    steps: Mapping[str, StepView],
    turns: Mapping[str, int],
) -> list[_Card]:
    if len(group) == 1:
        return [_Card(steps[group[0]], box, turn=turns[group[0]])]
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
            turn=turns[name],
        )
        for number, name in enumerate(group)
    ]


def _grids(
    layout: PlacedGraph,
    groups: Sequence[Sequence[str]],
    steps: Mapping[str, StepView],
    turns: Mapping[str, int],
) -> list[_Grid]:
    found: list[_Grid] = []
    for group in groups:
        if len(group) > 1:
            agents = {steps[name].state.agent for name in group}
            who = f" · {agents.pop()}" if len(agents) == 1 else ""
            box = layout.boxes[group[0]]
            room = int((box.width - 2 * _PAD) / 6.4)
            later = sorted({turns[name] for name in group})
            turn = "" if later == [1] else f"turn {', '.join(map(str, later))} · "
            found.append(_Grid(box, fitted(f"{turn}{len(group)} side by side{who}", room)))
    return found


def _arrows(
    layout: PlacedGraph, inside: Mapping[str, Sequence[str]], steps: dict[str, StepView]
) -> list[_Arrow]:
    critical = {name for name, step in steps.items() if step.state.critical}
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
