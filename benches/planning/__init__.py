"""How the embedded model plans, as a section of docs/reference/benchmarks.md."""

from __future__ import annotations

import asyncio

__all__ = ["run"]

SECTION = """\
## Planning with the embedded model

100 hand-written objectives, none of them in what the planner was trained on, each graded by the
plan that is right: five more plans are written where the first scores low, and the best one, by its
score and by how many have its graph, is taken, as `plan` and `run` do it.
[benches/planning](../../benches/planning/README.md) says what the columns count, what
fails, and what the model plans without its adapter.

{table}
"""


def run() -> str:
    """Measure."""
    from prefect_swarm.blocks.llama.engine import close_engines

    from .run import embedded_table

    try:
        table = asyncio.run(embedded_table())
    finally:
        close_engines()
    return SECTION.format(table=table)
