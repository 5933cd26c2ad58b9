"""PARL on the runtime: what a planner becomes that learns from runs of its own plans."""

from __future__ import annotations

__all__ = ["run"]


def run() -> str:
    """Train what isn't trained yet, compare, and return the section."""
    from .section import measured_section

    return measured_section()
