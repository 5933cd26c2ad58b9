"""How the embedded model plans, as a section of docs/benchmarks.md."""

from __future__ import annotations

import asyncio

__all__ = ["run"]

SECTION = """\
## Planning with the embedded model

30 varied objectives, none of them used to find the prompt. Usable: each thing the objective names
has a step of its own, things in turn are in turn, a join is there where one was asked for, nothing
is repeated; `benches/planning/rule.py` is the rule, the README beside it has what was tried and
what fails.

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
