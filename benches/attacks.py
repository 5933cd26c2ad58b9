"""Try every attack that the tests hold, and count by kind what got through.

`python benches/attacks.py` prints the table. An attack is a test with the mark `attack(kind)`: it
fails where the attack succeeds.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

__all__ = ["Tally"]

KINDS = {
    "server": "Asking a Prefect server from a web page, as another user, or without its key",
    "folders": "Run folders, stores and exports that somebody else made",
    "growth": "Texts that make a pattern or a parser slow",
    "load": "Answers, tools, schemas and requests without measure",
    "private": "Reading another user's files, and passwords in addresses",
    "keys": "Keys in what is shown of a call",
    "shown": "Characters and markup that show a person something else",
    "quotes": "Texts that pass for another step's result",
    "parsers": "Files that a parser can't bear",
    "sandbox": "Programs that try to leave the sandbox",
    "web": "Pages that lead an agent into a private network",
    "documents": "Names that lead out of a folder of documents",
    "serve": "Asking `serve` without its key",
}


class Tally:
    """A plugin of pytest that counts how the trials of each kind ended."""

    def __init__(self) -> None:
        """Begin with nothing counted."""
        self.kinds: dict[str, str] = {}
        self.tried: Counter[str] = Counter()
        self.succeeded: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which kind each trial is of."""
        for item in session.items:
            if mark := item.get_closest_marker("attack"):
                self.kinds[item.nodeid] = mark.args[0]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the end of a trial."""
        kind = self.kinds.get(report.nodeid)
        if kind is None or (report.when != "call" and report.passed):
            return
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped[kind] += 1
            return
        self.tried[kind] += 1
        # What is expected to fail is known to get through.
        self.succeeded[kind] += report.failed or hasattr(report, "wasxfail")

    def table(self) -> str:
        """Return a row for each kind."""
        rows = [
            f"| {words} | {self.tried[kind]} | {self.succeeded[kind]} |"
            for kind, words in KINDS.items()
        ]
        total = f"| **All** | {self.tried.total()} | {self.succeeded.total()} |"
        return "\n".join(
            ["| What was tried | Trials | Got through |", "|---|--:|--:|", *rows, total]
        )


def main() -> int:
    """Run the trials and print the table."""
    tally = Tally()
    arguments = ["-q", "-m", "attack", "--rootdir", str(Path(__file__).parents[1])]
    ended = pytest.main([*arguments, *sys.argv[1:]], plugins=[tally])
    if unknown := set(tally.kinds.values()).difference(KINDS):
        sys.exit(f"No words say what these kinds are: {', '.join(sorted(unknown))}")
    print(f"\n{tally.table()}")
    if tally.skipped:
        print(f"\nNot tried on this machine: {dict(tally.skipped)}")
    return ended


if __name__ == "__main__":
    sys.exit(main())
