"""What is drawn on a page of the Prefect UI: SVG, which both of its UIs show as an image."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ...tasks.report.drawn import costs_svg, graph_svg, timeline_svg
from ...tasks.report.page import Drawing
from ...tasks.report.view import RunView

__all__ = ["drawing_of"]

_logger = logging.getLogger("prefect_swarm.runs")


def drawing_of(view: RunView) -> Callable[[Drawing], str]:
    """Return what draws a run: the SVG of a drawing, "" where there is nothing to draw.

    It is light in both UIs: an image doesn't know which of their themes a person has chosen.
    """

    def draw(drawing: Drawing) -> str:
        try:
            match drawing.kind:
                case "graph":
                    return graph_svg(view, "light")
                case "timeline":
                    return timeline_svg(view, "light")
                case "costs":
                    return costs_svg(view, "light")
        except Exception as error:  # noqa: BLE001 - its words are shown instead
            why = str(error) or repr(error)
            _logger.warning("The %s could not be drawn: %s", drawing.kind, why)
            return ""

    return draw
