"""One row: `python benches/alternatives/measure.py --way langgraph --job spread`.

It is measured anew, and takes the place of the row that was kept.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def main() -> None:
    """Measure a way's job, or all of its jobs, and print what was found."""
    from alternatives.rows import NAMES, ROWS, measure_rows, read_rows
    from alternatives.scripted import JOBS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=tuple(NAMES), required=True)
    parser.add_argument("--job", choices=JOBS, action="append")
    asked = parser.parse_args()
    jobs = tuple(asked.job or JOBS)
    if ROWS.exists():
        lines = ROWS.read_text("utf-8").splitlines()
        pairs = zip(lines, read_rows(), strict=True)
        kept = [line for line, row in pairs if row.way != asked.way or row.job not in jobs]
        ROWS.write_text("".join(f"{line}\n" for line in kept), "utf-8")
    for row in measure_rows([asked.way], jobs):
        for name, value in asdict(row).items():
            print(f"{name}: {value}")
        print()


if __name__ == "__main__":
    main()
