"""Six patterns here, with LangGraph and in plain asyncio: lines, makespan, what a kill costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from kills.trial import nursery
from own_prefect import OwnServer
from ways.calls import LETTERS, ROUNDS, seconds_of

__all__ = ["run"]

PATTERNS = {
    "fan_out": "fan-out and join",
    "classify": "classify and act",
    "filter": "filter",
    "review": "review",
    "loop": "loop until done",
    "best_of": "best of three",
}
WAYS_FOLDER = Path(__file__).with_name("ways")
SCRIPT = WAYS_FOLDER / "nursery.py"
LATER_S = 0.3
"""How long after the answer in the middle a process is killed: what follows is under way."""
HEAD = """\
## Six patterns

What does a user write for the usual patterns, how long do they take, and what is lost if the
process is killed with signal 9 in the middle? Here they are plans (`benches/ways/plans`), run
through a real Prefect server with gates and pages, without a memory, in a process that has had a
run before; beside them, LangGraph's `StateGraph`, and pydantic-ai in plain asyncio. Lines are those
that aren't blank, comments or docstrings. All ask one scripted model, whose answers take 1 to 4
seconds; the bound is the time that answers take which need one another. *Lost* are answers that the
killed process had got and that were asked for again; *again* is all that was asked twice, with what
was under way. Ours resumes by the run's folder. LangGraph goes on from its checkpointer: the one in
memory, which it installs, and one that writes a file at the same moments as its separate package
for SQLite does. Plain asyncio begins again.

"""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to write the patterns.

    Attributes:
        kind: What the forked process runs.
        folder: Where its code is, under `ways/`.
        suffix: That of its files.
        is_stored: Whether LangGraph's checkpoints go into a file.
    """

    name: str
    kind: str
    folder: str
    suffix: str = ".py"
    is_stored: bool = False


OURS = Way("ours", "plan", "plans", ".yaml")
GRAPH = Way("LangGraph, in memory", "langgraph", "with_langgraph")
STORED = Way("LangGraph, file", "langgraph", "with_langgraph", is_stored=True)
PLAIN = Way("asyncio", "asyncio", "with_asyncio")
WAYS = (OURS, GRAPH, STORED, PLAIN)


@dataclass(frozen=True, slots=True)
class Found:
    """What a pattern came to in one way.

    Attributes:
        seconds: The makespan of a run that is left alone.
        calls: Requests to the model in it.
        lost: Answers that were there when the process was killed, and were asked for again.
        again: Requests of the killed run beyond those of the one that is left alone.
    """

    seconds: float
    calls: int
    lost: int
    again: int


def run() -> str:
    """Measure beside a server of our own and return the table."""
    with TemporaryDirectory(prefix="prefect-swarm-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        server = OwnServer(home)
        server.environment["PYTHONPATH"] = str(Path(__file__).parent)
        server.start()
        try:
            # Ours computes; the others only wait, and do so side by side.
            ours = _measured(server, home, OURS)
            with ThreadPoolExecutor() as pool:
                others = list(pool.map(partial(_measured, server, home), WAYS[1:]))
        finally:
            server.kill()
    return _report(dict(zip((way.name for way in WAYS), [ours, *others], strict=True)))


def _report(found: dict[str, dict[str, Found]]) -> str:
    names = " | ".join(("ours", "LangGraph", "asyncio"))
    rows = [
        f"| Lines that the user writes | {names} |",
        "|---|" + "---:|" * 3,
        *(
            f"| {name} | " + " | ".join(f"{_lines(way, p)}" for way in (OURS, GRAPH, PLAIN)) + " |"
            for p, name in PATTERNS.items()
        ),
        "",
        f"| Makespan ÷ bound | bound | {names} |",
        "|---|" + "---:|" * 4,
    ]
    for pattern, name in PATTERNS.items():
        bound = bounds()[pattern]
        cells = [f"{found[way.name][pattern].seconds / bound:.3f}" for way in (OURS, GRAPH, PLAIN)]
        rows.append(f"| {name} | {bound:.1f} s | " + " | ".join(cells) + " |")
    rows += [
        "",
        "| Killed in the middle: lost, again | Calls | " + " | ".join(w.name for w in WAYS) + " |",
        "|---|" + "---:|" * 5,
    ]
    for pattern, name in PATTERNS.items():
        each = [found[way.name][pattern] for way in WAYS]
        cells = [f"{one.lost}, {one.again}" for one in each]
        rows.append(f"| {name} | {each[0].calls} | " + " | ".join(cells) + " |")
    return HEAD + "\n".join(rows)


def bounds() -> dict[str, float]:
    """Return the seconds that each pattern takes at least, by the answers that follow others."""
    read = [seconds_of(f"read {name}") for name in LETTERS]
    end, check = seconds_of("compare"), max(seconds_of("check", n) for n in (1, 2, 3))
    return {
        "fan_out": max(read) + end,
        "classify": sum(map(seconds_of, ("classify", "fix", "report"))),
        "filter": seconds_of("find") + max(read[1::2]) + end,
        "review": seconds_of("draft") + seconds_of("draft, again") + 2 * check,
        "loop": ROUNDS * seconds_of("improve"),
        "best_of": max(seconds_of("write", n) for n in (1, 2, 3)) + seconds_of("judge"),
    }


def _lines(way: Way, pattern: str) -> int:
    text = (WAYS_FOLDER / way.folder / f"{pattern}{way.suffix}").read_text("utf-8")
    lines = [line.strip() for line in text.splitlines()]
    return sum(
        bool(line) and not line.startswith(("#", '"""', "from __future__")) for line in lines
    )


# --- runs and kills ---------------------------------------------------------------------------


def _measured(server: OwnServer, home: Path, way: Way) -> dict[str, Found]:
    own = home / f"way-{WAYS.index(way)}"
    own.mkdir()
    with nursery(server, own / "log", SCRIPT) as process:
        return {pattern: _pattern(process, way, pattern, own) for pattern in PATTERNS}


def _pattern(process: subprocess.Popen[str], way: Way, pattern: str, own: Path) -> Found:
    asked, seconds = _whole(process, way, pattern, own / f"{pattern}-whole", warm=True)
    killed, answered, run = _killed(
        process, way, pattern, own / f"{pattern}-killed", asked.total() // 2
    )
    file = own / f"{pattern}-killed"
    after, _ = _whole(process, way, pattern, file, run)
    lost = sum(max(0, answered[name] + after[name] - asked[name]) for name in asked)
    return Found(seconds, asked.total(), lost, (killed + after).total() - asked.total())


def _whole(
    process: subprocess.Popen[str],
    way: Way,
    pattern: str,
    file: Path,
    run: str | None = None,
    *,
    warm: bool = False,
) -> tuple[Counter[str], float]:
    """Bring a pattern to its end; what was asked, and the seconds."""
    lines = list(_lines_of(process, way, pattern, file, run, warm=warm))
    results = [line for line in lines if line.startswith("result ")]
    if not results:
        raise RuntimeError(f"{way.name} broke off in {pattern}: {lines}")
    return _noted(lines, "asked"), float(results[0].split()[1])


def _killed(
    process: subprocess.Popen[str], way: Way, pattern: str, file: Path, answers: int
) -> tuple[Counter[str], Counter[str], str | None]:
    """Kill a pattern after so many answers; what was asked and answered, and the run."""
    lines: list[str] = []
    for line in _lines_of(process, way, pattern, file, None):
        lines.append(line)
        if line.startswith("answered ") and _noted(lines, "answered").total() == answers:
            time.sleep(LATER_S)
            os.kill(int(lines[0].split()[1]), signal.SIGKILL)
    run = next((line.split()[1] for line in lines if line.startswith("began ")), None)
    return _noted(lines, "asked"), _noted(lines, "answered"), run


def _noted(lines: list[str], kind: str) -> Counter[str]:
    return Counter(line.partition(" ")[2] for line in lines if line.startswith(f"{kind} "))


def _lines_of(
    process: subprocess.Popen[str],
    way: Way,
    pattern: str,
    file: Path,
    run: str | None,
    *,
    warm: bool = False,
) -> Iterator[str]:
    command = {
        "way": way.kind,
        "pattern": pattern,
        "run": run,
        "warm": warm,
        "file": str(file) if way.is_stored else None,
    }
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    stdin.write(f"{json.dumps(command)}\n")
    stdin.flush()
    for line in map(str.rstrip, stdout):
        if line.startswith("ended "):
            return
        yield line


if __name__ == "__main__":
    print(run())
