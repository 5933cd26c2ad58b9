"""The section of docs/reference/benchmarks.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .rows import NAMES, measure_rows
from .scripted import LATENCY_S
from .trial import Row

__all__ = ["measured_section", "section"]

_Table = Callable[[Mapping[str, Row] | None], list[str]]
"""The cells of a way's row after its name; of None, the head's."""

_BUSY = 4.0
"""The load average from which seconds say little, on two cores."""
_HEAD = f"""\
## Beside the alternatives

What does a user write, wait for and pay for, with this package and with others? The same five jobs,
each way in an environment of its own, with the same scripted model over HTTP, which takes
{LATENCY_S:g} s an answer. *Research*: twelve steps and a join. *Spread*: a step finds six items,
a step scores each, a join; the first score of one item is a word where a number was asked for.
*Code*: the first function is wrong, and right once the model sees the test fail. *Approval*: a
draft, a person, another step; the process that waits is killed, and another one has the person's
answer. *Kill*: the research again, with answers after 1 to 12 s; kill -9 after the sixth, then the
same command, or the package's `resume`. Each script is in
[benches/alternatives/ways](../../benches/alternatives/ways), as the documentation of its framework
has it. A Prefect server runs already for the two ways that use one.
"""


def measured_section() -> str:
    """Measure each job in each way, and return the section."""
    return section(measure_rows(NAMES))


def section(rows: Sequence[Row]) -> str:
    """Return the section of rows of all jobs."""
    ways: dict[str, dict[str, Row]] = {}
    for row in rows:
        ways.setdefault(row.way, {})[row.job] = row
    tables = (_lines, _times, _losses, _kept)
    texts = [_HEAD, *_busy(rows), *(_table(table, ways) for table in tables), *_problems(rows)]
    return "\n".join(texts)


def _busy(rows: Sequence[Row]) -> list[str]:
    """Say so where the machine did other work as well."""
    load = max(row.load for row in rows)
    if load <= _BUSY:
        return []
    return [
        f"The machine did other work meanwhile: its load average was up to {load:.0f}. The seconds "
        "can't be compared, then. Lines, requests and losses can.\n"
    ]


def _table(table: _Table, ways: Mapping[str, Mapping[str, Row]]) -> str:
    head = table(None)
    marks = ["---", *("---:" for _ in head)]
    lines = [f"| {' | '.join(['Way', *head])} |", f"|{'|'.join(marks)}|"]
    lines += [f"| {' | '.join([NAMES[way], *table(jobs)])} |" for way, jobs in ways.items()]
    return "\n".join(lines) + "\n"


def _lines(jobs: Mapping[str, Row] | None) -> list[str]:
    names = ("research", "spread", "coding", "approval")
    if jobs is None:
        return ["Lines: research", "Spread", "Code", "Approval", "All"]
    counts = [jobs[name].lines for name in names]
    return [str(count) for count in [*counts, sum(counts)]]


def _times(jobs: Mapping[str, Row] | None) -> list[str]:
    names = ("research", "spread", "coding")
    if jobs is None:
        least = (2, 4, 2)
        return [
            f"{name.capitalize()}, at least {LATENCY_S * count:g} s: makespan · process"
            for name, count in zip(("research", "spread", "code"), least, strict=True)
        ]
    return [_time(jobs[name]) for name in names]


def _time(row: Row) -> str:
    makespan = "–" if row.makespan_s is None else f"{row.makespan_s:.1f} s"
    return f"{makespan} · {row.seconds:.1f} s" + ("" if row.done else ", not done")


def _losses(jobs: Mapping[str, Row] | None) -> list[str]:
    if jobs is None:
        return [
            "After kill -9: requests, at least 13",
            "Under way",
            "Paid twice",
            "Done",
            "Approval: paid twice",
            "Done",
        ]
    kill, approval = jobs["kill"], jobs["approval"]
    return [
        str(kill.requests),
        str(kill.under_way),
        str(kill.twice),
        _yes(kill.done),
        str(approval.twice),
        _yes(approval.done),
    ]


def _kept(jobs: Mapping[str, Row] | None) -> list[str]:
    if jobs is None:
        return ["A word for a number", "Kept on disk: answers", "Tokens", "Money"]
    stored = [row.stored for row in jobs.values()]
    kept = (
        any(s.answers for s in stored),
        any(s.tokens for s in stored),
        any(s.money for s in stored),
    )
    return [jobs["spread"].bad, *(_yes(is_kept) for is_kept in kept)]


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def _problems(rows: Sequence[Row]) -> list[str]:
    return [
        f"- {NAMES[row.way]}, {row.job}, was not done: `{_last(row.problem)}`"
        for row in rows
        if not row.done
    ]


def _last(problem: str) -> str:
    lines = [line.strip() for line in problem.splitlines() if line.strip()]
    return lines[-1][:160].replace("`", "'") if lines else "it said nothing"
