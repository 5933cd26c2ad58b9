"""Tables that have to be searched together: one agent and swarms of several kinds."""

from __future__ import annotations

__all__ = ["run"]


def run() -> str:
    """Measure, and return the section of docs/reference/benchmarks.md."""
    from .tables import measured_section

    return measured_section()
