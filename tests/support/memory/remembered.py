"""Episodes for the tests of what is learned from them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode, LogEntry
from prefect_swarm.memory.learning.reward import reward_of

__all__ = ["episode", "logs"]

_CATEGORIES = [
    Category.LOGIC,
    Category.LOGIC,
    Category.CODE,
    Category.UPSTREAM,
    Category.INFRASTRUCTURE,
    Category.TIMEOUT,
]


def episode(step: str = "S1", attempt: int = 1, **given: Any) -> Episode:
    """An attempt that succeeded, except for what is given."""
    succeeded = given.setdefault("succeeded", given.get("category") is None)
    values: dict[str, Any] = {
        "run": "run-1",
        "step": step,
        "attempt": attempt,
        "prompt": f"Do {step}",
        "persona": "Writer",
        "tier": "worker",
        "model": "m",
        "started_at": 0.0,
        "ended_at": 1.0,
        "duration_s": 1.0,
        "decision": None if succeeded else "FAIL",
        "reward": reward_of(succeeded, given.get("category"), given.get("gates", ())).value,
    }
    return Episode.model_validate({**values, **given})


@st.composite
def logs(draw: st.DrawFn) -> list[LogEntry]:
    """Logs of a few runs whose steps fail and succeed and read each other's outputs."""
    entries: list[LogEntry] = []
    position = 0
    for number in range(draw(st.integers(1, 4))):
        names: list[str] = []
        for step in range(draw(st.integers(1, 4))):
            name = f"S{step + 1}"
            upstream = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
            tries = draw(st.integers(1, 3))
            for attempt in range(1, tries + 1):
                won = draw(st.booleans())
                position += draw(st.integers(1, 3))
                last = attempt == tries
                made = episode(
                    name,
                    attempt,
                    run=f"run-{number}",
                    namespace=draw(st.sampled_from(["default", "default", "default", "other"])),
                    upstream=tuple(upstream),
                    persona=draw(st.sampled_from(["A", "B"])),
                    tier=draw(st.sampled_from(["worker", "coder"])),
                    task_type=draw(st.sampled_from(["chat/text", "code/python"])),
                    succeeded=won,
                    category=None if won else draw(st.sampled_from(_CATEGORIES)),
                    decision=None if won else "FAIL" if last else "RETRY",
                    duration_s=draw(st.floats(0, 100)),
                    used=tuple({entry.episode.key for entry in entries[-2:]}),
                )
                entries.append(LogEntry(position, made))
            names.append(name)
    return entries
