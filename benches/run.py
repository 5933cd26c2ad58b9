"""Measure, and write docs/reference/benchmarks.md: `python benches/run.py [name ...]`.

Each bench is a module here whose `run()` returns its section. Sections of benches that did not run
stay as they are, each with the machine that it was measured on.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from machine import describe_machine

BENCHES = (
    "makespan",
    "scheduler_cost",
    "startup",
    "prefect_overhead",
    "many_runs",
    "patches",
    "store_places",
    "expansion",
    "plan_stream",
    "procedures",
    "langgraph_shapes",
    "asynchow",
    "parallelqa",
    "worfbench",
    "pipelines",
    "patterns",
    "turns",
    "tools_table",
    "wide_search",
    "engine",
    "like_steps",
    "inference",
    "planning",
    "memory_recall",
    "memory_learning",
    "memory_passes",
    "memory_planning",
    "memory_pays",
)
ON_REQUEST = ("workspace_bugs", "workflows", "alternatives", "scale", "parl_runs", "chaos")
"""What needs data or packages that are fetched, or takes long and measures no speed."""
REPORT = Path(__file__).parents[1] / "docs" / "reference" / "benchmarks.md"
WIDTH = 150
HEAD = """\
# Benchmarks

`make bench` measures all of this, `make chaos` the last section, and the command below a section
that one alone. Goals stand with their figures. A figure in **bold** misses the goal of its row.
"""


def main(names: Sequence[str]) -> None:
    """Run the named benches, or all of them."""
    known = (*BENCHES, *ON_REQUEST)
    if unknown := set(names).difference(known):
        sys.exit(f"There is no bench {', '.join(sorted(unknown))}; there are {', '.join(known)}.")
    for name in names or BENCHES:
        print(f"{name} …", file=sys.stderr)
        again = f"`python benches/run.py {name}` · {describe_machine()}"
        section = _wide(f"{import_module(name).run().strip()}\n\n{again}\n")
        sections = read_sections() | {name: section}
        write_report(sections)
        print(section)


def read_sections() -> dict[str, str]:
    """Return the sections there are, by bench."""
    if not REPORT.exists():
        return {}
    parts = re.split(r"^<!-- (\w+) -->\n", REPORT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def write_report(sections: dict[str, str]) -> None:
    """Write the sections in the benches' order."""
    names = [name for name in (*BENCHES, *ON_REQUEST) if name in sections]
    texts = [f"<!-- {name} -->\n{sections[name].strip()}\n" for name in names]
    REPORT.write_text("\n".join([HEAD, *texts]), encoding="utf-8")


def _wide(section: str) -> str:
    """Give paragraphs the width that the other pages have."""
    parts = section.split("\n\n")
    return "\n\n".join(
        part
        if part.lstrip().startswith(("#", "|", "-", "`"))
        else textwrap.fill(part, WIDTH, break_on_hyphens=False)
        for part in parts
    )


if __name__ == "__main__":
    main(sys.argv[1:])
