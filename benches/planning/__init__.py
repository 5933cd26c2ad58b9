"""How the embedded model plans, as a section of docs/reference/benchmarks.md."""

from __future__ import annotations

import asyncio

__all__ = ["run"]

SECTION = """\
## Planning with the embedded model

How many objectives are planned rightly? 100 hand-written ones that the planner was not trained on,
each graded by the plan that is right. Where the first plan scores low, five more are written, and
the best one is taken, as `plan` and `run` do it. [The bench](../../benches/planning/README.md) says
what the columns count, which goals are missed, what fails, and the same by kind.

{table}
"""


def run() -> str:
    """Measure."""
    from prefect_swarm.models.llama.engine import close_engines

    from .run import embedded_table

    try:
        table = asyncio.run(embedded_table())
    finally:
        close_engines()
    head, rule, *rows = table.splitlines()
    return SECTION.format(table="\n".join([head, rule, rows[-1]]))
