"""Drawings of a run as SVG: its graph, its timeline, and what it cost. Pure.

A drawing stands alone: it has its own colours, and fetches nothing.
"""

from __future__ import annotations

from .costs import costs_svg
from .graph import graph_svg
from .timeline import timeline_svg

__all__ = ["costs_svg", "graph_svg", "timeline_svg"]
