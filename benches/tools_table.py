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

{ENTITIES} works with three attributes each; every one of the 120 values stands in a document of
its own, among {DOCUMENTS} that were generated from a seed: older values, works with similar names,
reports that say nothing. Agents have the toolset `documents`, through the whole flow with its
journal. Counted are right cells of 120, requests to models, pages (a search, or a document that is
opened) and tokens, read ones among them: what a request reads again counts again. Means of
{len(SEEDS)} worlds.

The model is a script, the same for all: a page an answer, in the order of the table. It knows
sentences that state a value, and nothing but what its context has: prompt, calls, results and its
own words. Where it forgets, that is all beyond the newest {CONTEXT:,} tokens; the place in the
table where it is, it writes into each answer. *Repeats its table*: every ten cells it writes down
all that it knows. So differences come from dividing the work, and none from a model's skill; the
plan is given, and a request for one would come on top.

Seconds are those of a virtual clock: {PAGE_S:g} for a page, 1 for an answer and 1 for each 50
tokens that it writes; all agents begin together, and {AT_ONCE[0]} pages (the default of
`--tool-limit at_once`) or {AT_ONCE[1]} are looked up at once."""
COLUMNS = f"""\
| Who | Right | Requests | Pages | Tokens | {AT_ONCE[0]} at once | {AT_ONCE[1]} at once |
|---|---:|---:|---:|---:|---:|---:|"""


def run() -> str:
    """Measure in a process of its own, and return the section."""
    return f"{HEAD}\n\n{COLUMNS}\n{run_with_prefect(__file__)}"


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
