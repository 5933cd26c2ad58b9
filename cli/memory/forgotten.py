"""What `forget` says: what is meant, and what was removed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...memory.run_names import short_run
from ...text import one_line, plural
from ..output.printing import print_table, print_text

if TYPE_CHECKING:
    from ...memory.forgetting import Forgotten
    from ...memory.selecting import ResolvedSelection
    from ...memory.traces.finding import Traces
    from ...memory.traces.removing import RemovedTraces

__all__ = ["counted", "show_done", "show_meant"]

_SHOWN = 10


def show_meant(meant: ResolvedSelection) -> None:
    """Print the runs of which attempts are meant."""
    runs = Counter(short_run(entry.episode.run) for entry in meant.entries)
    first = {short_run(entry.episode.run): entry.episode for entry in reversed(meant.entries)}
    if runs:
        print_table(
            ("Run", "Attempts", "Objective or prompt"),
            (
                (run, f"{count:,}", one_line(first[run].objective or first[run].prompt, 200))
                for run, count in runs.most_common(_SHOWN)
            ),
            right=frozenset({"Attempts"}),
        )
    if len(runs) > _SHOWN:
        print_text(f"… and {plural(len(runs) - _SHOWN, 'more run')}")


def show_done(done: Forgotten) -> None:
    """Print what was removed, and what isn't this command's to remove."""
    print_text(f"Forgotten: {counted(done.episodes, done.personas, done.elsewhere)}.")
    if (elsewhere := done.elsewhere) is None:
        print_text(
            "What runs wrote besides stays, unless --everywhere is given: their folders in runs, "
            "cached gate results, stored prompts, Prefect's results; and what Prefect's server "
            "stores."
        )
        return
    for run in elsewhere.executed:
        print_text(f"Run {run} is being executed and stays. When it has ended, forget it again.")
    print_text(
        "What Prefect's server stores of flow runs stays: prefect flow-run delete ID. So do "
        "exports and backups."
    )


def counted(episodes: int, invented: tuple[str, ...], traces: Traces | RemovedTraces | None) -> str:
    """Say how much that is."""
    personas = f" and the invented {', '.join(invented)}" if invented else ""
    text = f"{plural(episodes, 'episode')}{personas}"
    if traces is None:
        return text
    found = {
        "run folder": traces.runs,
        "stored result": traces.results,
        "cached gate result": traces.gates,
        "stored prompt": traces.prefixes,
    }
    counts = {
        name: many if isinstance(many, int) else len(many) for name, many in found.items() if many
    }
    return "; ".join([text, *(plural(count, name) for name, count in counts.items())])
