"""Make the small files of this folder from checkouts of what others published.

`python benches/published/convert.py asynchow CHECKOUT` reads `data/async_benchmark.pkl`;
`… worfbench CHECKOUT` reads `gold_traj/*/graph_eval.json`; `… parallelqa CHECKOUT` reads
`datasets/parallelqa_dataset.json`.
"""

from __future__ import annotations

import gzip
import json
import pickle
import re
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
_NODE = re.compile(r"^\d+\s*[:.]\s*(.+)$", re.MULTILINE)
_EDGE = re.compile(r"\(\s*(\d+|START)\s*,\s*(\d+|END)\s*\)")


class _TimesOnly(pickle.Unpickler):
    """An unpickler that makes durations and nothing else: a pickle may name any function."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("datetime", "timedelta"):
            return timedelta
        raise pickle.UnpicklingError(f"The file names {module}.{name}, which no plan needs.")


def convert_asynchow(checkout: Path) -> list[dict[str, Any]]:
    """Return title, durations in seconds by step, and edges of each plan."""
    with (checkout / "data" / "async_benchmark.pkl").open("rb") as file:
        columns: Mapping[str, list[Any]] = _TimesOnly(file).load()
    plans: list[dict[str, Any]] = []
    rows = zip(
        *(columns[name] for name in ("titles", "timedelta_dic", "step_deps", "task_time")),
        strict=True,
    )
    for title, times, edges, gold in rows:
        seconds = {step: _middle(bounds) for step, bounds in times.items()}
        plans.append(
            {
                "title": title,
                "seconds": {step: seconds[step] for step in sorted(seconds, key=int)},
                "edges": sorted(edges, key=lambda edge: (int(edge[0]), int(edge[1]))),
                "gold_s": _middle(gold),
            }
        )
    return plans


def _middle(bounds: list[timedelta]) -> float:
    """Return the seconds in the middle of a time that is given as from and to."""
    return sum(bound.total_seconds() for bound in bounds) / len(bounds)


def convert_worfbench(checkout: Path) -> list[dict[str, Any]]:
    """Return the task, nodes and edges of each gold plan; nodes are numbered from 1."""
    plans: list[dict[str, Any]] = []
    for path in sorted((checkout / "gold_traj").glob("*/graph_eval.json")):
        for each in json.loads(path.read_text("utf-8")):
            asked = [turn["content"] for turn in each["conversations"] if turn["role"] == "user"]
            gold = each["conversations"][-1]["content"]
            plans.append(
                {
                    "set": path.parent.name,
                    "task": asked[-1],
                    "nodes": [node.strip() for node in _NODE.findall(gold)],
                    "edges": _EDGE.findall(gold),
                }
            )
    return plans


def convert_parallelqa(checkout: Path) -> list[dict[str, Any]]:
    """Return the questions with their answers, as they are."""
    return json.loads((checkout / "datasets" / "parallelqa_dataset.json").read_text("utf-8"))


CONVERTERS = {
    "asynchow": convert_asynchow,
    "parallelqa": convert_parallelqa,
    "worfbench": convert_worfbench,
}


def main(name: str, checkout: str) -> None:
    """Convert one of them and write it beside this file."""
    records = CONVERTERS[name](Path(checkout))
    text = "\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n"
    # Without a time in it, so that the same data are the same file.
    (FOLDER / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(records)} records in {FOLDER / name}.jsonl.gz")


if __name__ == "__main__":
    main(*sys.argv[1:])
