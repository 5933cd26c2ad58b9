"""Where the time of a run went, in a line and as blocks of a page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...measures.metrics import FIGURES, KIND_WORDS, TIME_KINDS, Metrics
from ...measures.stretch import RunTime, Stretch, TimeKind, seconds_by_kind
from ...result import Cost, StepResult
from ...text import dollars, duration
from .page import Block, Figure, Figures, Ref, Table, Text

__all__ = ["explained_blocks", "path_table", "run_figures", "time_figures", "time_line"]

_LEAST_S = 0.05
"""Less than that is shown as 0.0 s."""
_STEPS_NAMED = 4
_MOST_ROWS = 40
_PATH = ("Took", "Step", "Of that")


def time_line(time: RunTime) -> str:
    """Write a run's time in a line: `13.9 s = model 9.4 (S1, S3) + planning 2.1 + Prefect 2.4`."""
    parts = [
        f"{KIND_WORDS[kind]} {_short(seconds)}{_at(kind, time.stretches)}"
        for kind, seconds in time.seconds.items()
        if seconds >= _LEAST_S
    ]
    small = [seconds for seconds in time.seconds.values() if seconds < _LEAST_S]
    if sum(small) >= _LEAST_S:
        parts.append(f"other {_short(sum(small))}")
    return f"{duration(time.total_s)} = {' + '.join(parts)}" if parts else duration(time.total_s)


def explained_blocks(time: RunTime | None, steps: Sequence[StepResult]) -> list[Block]:
    """Return the blocks of a page that say where the time went; none if it wasn't measured."""
    if time is None:
        return []
    return [time_figures(time, steps), path_table(time)]


def run_figures(metrics: Metrics, cost: Cost) -> Figures:
    """Return the figures of a run, each with what it means."""
    money = f", {dollars(cost.money_usd)}" if cost.money_usd is not None else ""
    values = {
        "total": duration(metrics.total_s) if metrics.total_s else "",
        "makespan": duration(metrics.makespan_s),
        "critical path": duration(metrics.critical_path_s),
        "waits": duration(metrics.critical_wait_s),
        "work": duration(metrics.work_s),
        "parallelism": f"{metrics.parallelism:.2f}",
        "speedup": f"{metrics.speedup:.2f}",
        "critical steps": str(metrics.critical_steps),
        "cost": f"{cost.calls:,} calls, {cost.tokens:,} tokens{money}",
    }
    return Figures(
        tuple(Figure(name, value, FIGURES[name]) for name, value in values.items() if value)
    )


def time_figures(time: RunTime, steps: Sequence[StepResult]) -> Figures:
    """Return what the total is made of, the makespan's own parts, and the seconds of each kind."""
    kinds = [
        Figure(KIND_WORDS[kind], _share(seconds, time.total_s), TIME_KINDS[kind])
        for kind, seconds in time.seconds.items()
    ]
    return Figures((*_parts(time, steps), *kinds))


def path_table(time: RunTime) -> Table:
    """Return what the run's end waited for, step by step; the seconds add up to the total."""
    groups: list[tuple[str, list[Stretch]]] = []
    for each in time.stretches:
        if groups and groups[-1][0] == each.step:
            groups[-1][1].append(each)
        else:
            groups.append((each.step, [each]))
    rows = [_row(step, stretches) for step, stretches in groups]
    return Table(_PATH, tuple(rows[:_MOST_ROWS]), max(0, len(rows) - _MOST_ROWS))


def _parts(time: RunTime, steps: Sequence[StepResult]) -> list[Figure]:
    """Return the total, and what of it was before, in and after the steps."""
    tries = [attempt for step in steps for attempt in step.attempts]
    whole = Figure("total", duration(time.total_s), FIGURES["total"])
    if not tries:
        return [whole]
    first = min(attempt.started_at for attempt in tries)
    last = max(attempt.ended_at for attempt in tries)
    within = seconds_by_kind(time.stretches, first, last)
    return [
        whole,
        Figure("before the steps", duration(first - time.began_at), FIGURES["before"]),
        Figure("makespan", duration(last - first), f"{FIGURES['makespan']}: {_words(within)}"),
        Figure("after the steps", duration(time.ended_at - last), FIGURES["after"]),
    ]


def _row(step: str, stretches: Sequence[Stretch]) -> tuple[Text, ...]:
    since, until = stretches[0].started_at, stretches[-1].ended_at
    kinds = _words(seconds_by_kind(stretches, since, until))
    return duration(until - since), Ref(step, step) if step else "the run", kinds


def _words(seconds: Mapping[TimeKind, float]) -> str:
    shown: Mapping[TimeKind, float] = {k: s for k, s in seconds.items() if s >= _LEAST_S}
    return ", ".join(
        f"{KIND_WORDS[kind]} {duration(spent)}" for kind, spent in (shown or seconds).items()
    )


def _at(kind: TimeKind, stretches: Iterable[Stretch]) -> str:
    """Name the steps that a model, a tool or a wait was of."""
    if kind == "prefect":
        return ""
    steps = [*dict.fromkeys(each.step for each in stretches if each.kind == kind and each.step)]
    more = f" and {len(steps) - _STEPS_NAMED} more" if len(steps) > _STEPS_NAMED else ""
    return f" ({', '.join(steps[:_STEPS_NAMED])}{more})" if steps else ""


def _short(seconds: float) -> str:
    return duration(seconds).removesuffix(" s")


def _share(seconds: float, total_s: float) -> str:
    return f"{duration(seconds)}, {100 * seconds / total_s:.0f} %" if total_s else duration(seconds)
