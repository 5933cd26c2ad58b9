"""What the server counts, in Prometheus's text format."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from ..blocks.llama import GeneratedText

__all__ = ["Outcome", "ServerMetrics"]

Outcome = Literal["completed", "refused", "failed", "disconnected", "stopped"]
"""How a request ended: `refused` for what the client got wrong, `stopped` as the server ended."""

_OUTCOMES: tuple[Outcome, ...] = ("completed", "refused", "failed", "disconnected", "stopped")


@dataclass
class ServerMetrics:
    """Counts since the server began.

    Attributes:
        waiting: Requests whose prompt is not being processed yet.
        running: Requests that are being answered.
    """

    waiting: int = 0
    running: int = 0
    _ended: Counter[Outcome] = field(default_factory=Counter[Outcome])
    _read: int = 0
    _cached: int = 0
    _written: int = 0
    _queue_s: float = 0.0
    _work_s: float = 0.0
    _answered: int = 0

    def end(self, outcome: Outcome) -> None:
        """Count a request that has ended."""
        self._ended[outcome] += 1

    def add(self, done: GeneratedText) -> None:
        """Count what an answer took."""
        self._read += done.input_tokens
        self._cached += done.cached_tokens
        self._written += done.output_tokens
        self._queue_s += done.queue_s
        self._work_s += done.duration_s
        self._answered += 1

    def text(self) -> str:
        """Return all of it for Prometheus."""
        lines = ["# HELP prefect_swarm_requests_total Requests that ended, by how."]
        lines.append("# TYPE prefect_swarm_requests_total counter")
        lines += [
            f'prefect_swarm_requests_total{{outcome="{outcome}"}} {self._ended[outcome]}'
            for outcome in _OUTCOMES
        ]
        lines += _metric("prompt_tokens_total", "counter", "Tokens of prompts.", self._read)
        lines += _metric(
            "cached_tokens_total",
            "counter",
            "Tokens of prompts that were not computed again.",
            self._cached,
        )
        lines += _metric("written_tokens_total", "counter", "Tokens of answers.", self._written)
        lines += _summary(
            "queue_seconds", "Seconds until a request was begun.", self._queue_s, self._answered
        )
        lines += _summary(
            "work_seconds", "Seconds from then to its end.", self._work_s, self._answered
        )
        lines += _metric("requests_waiting", "gauge", "Requests that wait.", self.waiting)
        lines += _metric("requests_running", "gauge", "Requests being answered.", self.running)
        return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, text: str, value: float) -> list[str]:
    full = f"prefect_swarm_{name}"
    return [f"# HELP {full} {text}", f"# TYPE {full} {kind}", f"{full} {value}"]


def _summary(name: str, text: str, total: float, count: int) -> list[str]:
    full = f"prefect_swarm_{name}"
    return [
        f"# HELP {full} {text}",
        f"# TYPE {full} summary",
        f"{full}_sum {total}",
        f"{full}_count {count}",
    ]
