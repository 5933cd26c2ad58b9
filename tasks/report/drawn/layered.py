"""Where boxes and arrows stand, left to right in layers: Sugiyama's layout, by grandalf. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from grandalf.graphs import Edge, Graph, Vertex  # pyright: ignore[reportMissingImports]
from grandalf.layouts import SugiyamaLayout  # pyright: ignore[reportMissingImports]

__all__ = ["PlacedBox", "PlacedGraph", "lay_out"]

_BESIDE, _BEHIND = 14, 64  # between the boxes of a layer, and between layers
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
    layout.xspace, layout.yspace = _BESIDE, _BEHIND
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
