"""The section of docs/reference/benchmarks.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .rows import NAMES, measure_rows
from .scripted import LATENCY_S
from .trial import Row

__all__ = ["measured_section", "section"]

_Table = Callable[[Mapping[str, Row] | None], list[str]]
"""The cells of a way's row after its name; of None, the head's."""

_NOTES = """\
- *Paid twice*: answers that were there when the process ended and were asked for again after it.
- *Lines*: those of the script that are neither empty nor a comment; here those of the plan in JSON,
  and the commands. A plan says no more of a failing test than an example of what a call gives.
- *Money*: this model has no known price. Whether the cost of a known model is kept is not measured.
- *LangGraph* keeps what the state holds: texts here; messages would hold tokens. `StateGraph`,
  asynchronous, with `AsyncSqliteSaver`. With `invoke` and `SqliteSaver` on these two cores, kill -9
  cost all six answers again in the one run that was tried: the threads that were to store them
  waited behind steps under way.
- *pydantic-ai on DBOS*: a child workflow a step, in SQLite; the same workflow's id goes on.
- *pydantic-ai on Prefect*: the key of a stored answer holds the flow run's id, and a process that
  is started again is another flow run. Another `cache_policy` can be set; none was tried.
- *Microsoft Agent Framework*: its functional workflows, which its documentation calls experimental.
  A value that doesn't fit the schema raises, and the script ends.
- *CrewAI*: `Crew(checkpoint=True)`, whose documentation calls the writing of checkpoints best
  effort; some writes failed here, beside steps under way. Steps side by side need an agent each,
  with a role of its own: with one role for all, the run did not go on after kill -9. A value that
  doesn't fit the schema raises.
"""
_BUSY = 4.0
"""The load average from which seconds say little, on two cores."""
_HEAD = f"""\
## Beside the alternatives

What does a user write, wait for and pay for, with this package and with others? The same five jobs,
each way in an environment of its own, with the same scripted model over HTTP, which takes
{LATENCY_S:g} s an answer. *Research*: twelve steps and a join. *Spread*: a step finds six items,
a step scores each, a join; the first score of one item is a word where a number was asked for.
*Code*: the first function is wrong, and right once the model sees the test fail. *Approval*: a
draft, a person, another step; a process that waits is killed, and another one has the person's
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
    drawn = [_table(table, ways) for table in tables]
    return "\n".join([_HEAD, *_busy(rows), *drawn, _NOTES + "\n".join(_problems(rows))])


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
        return ["A word for a number", "Research, kept on disk: answers", "Tokens", "Money"]
    stored = jobs["research"].stored
    return [jobs["spread"].bad, _yes(stored.answers), _yes(stored.tokens), _yes(stored.money)]


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
