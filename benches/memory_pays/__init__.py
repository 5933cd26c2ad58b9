"""Whether a memory pays where personas, tiers, forms and plans truly differ."""

from __future__ import annotations

__all__ = ["run"]


def run() -> str:
    """Measure, and return the section of docs/reference/benchmarks.md."""
    from .tables import measured_section

    return measured_section()
