"""A table whose cells are spread over 500 documents: a swarm of readers beside one agent."""

from __future__ import annotations

import asyncio
import sys

from own_prefect import run_with_prefect
from with_tools.measure import AT_ONCE, CONTEXT, PAGE_S, SEEDS, measure
from with_tools.world import DOCUMENTS, ENTITIES

__all__ = ["run"]

HEAD = f"""\
## Tools: a table out of {DOCUMENTS} documents

What does a table cost that is spread over many documents: one agent, or a swarm? {ENTITIES} works
have three attributes each, and each of the 120 values stands in a document of its own, among
{DOCUMENTS} that a seed generates. Agents have the toolset `documents`, through the whole flow.
Means of {len(SEEDS)} worlds. The model is a script, the same for all: differences come from
dividing the work, none from a model's skill. The plan is given.

*Right*: cells of 120. *Pages*: searches and opened documents. *Tokens*: read and written; what a
request reads again counts again. An agent that *forgets* sees the newest {CONTEXT:,} tokens alone;
one that *repeats its table* writes down all it knows every ten cells. Seconds are of a virtual
clock: {PAGE_S:g} a page, 1 an answer and 1 for each 50 tokens of it. {AT_ONCE[0]} pages are
looked up in parallel (the default of `--tool-limit at_once`), or {AT_ONCE[1]}."""
COLUMNS = f"""\
| Who | Right | Requests | Pages | Tokens | {AT_ONCE[0]} in parallel | {AT_ONCE[1]} in parallel |
|---|---:|---:|---:|---:|---:|---:|"""


def run() -> str:
    """Measure in a process of its own, and return the section."""
    return f"{HEAD}\n\n{COLUMNS}\n{run_with_prefect(__file__)}"


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
