"""One model file that is served: its engine, and what is counted of its requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ..models.llama.api import EngineConfig, GeneratedText, GenerateRequest
from ..models.llama.engine import get_engine
from ..models.llama.gguf import chat_template_of
from ..models.llama.limits import config_with, limits_of
from ..models.llama.tool_calls import Style, style_of
from .connection import ClosingError, api_error

__all__ = ["ModelService", "Outcome", "ServerMetrics"]


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


class ModelService:
    """Answers requests from one event loop until it is closed."""

    def __init__(self, path: Path, config: EngineConfig, names: tuple[str, ...]) -> None:
        """Take a model file.

        Args:
            path: A file that passed `check_model_file`.
            config: How it is served.
            names: What clients may call it; the first is its name.
        """
        self.path = path
        self.config = config
        self.names = names
        self.metrics = ServerMetrics()
        self.closed = False
        self._running: set[asyncio.Future[GeneratedText]] = set()

    @property
    def max_tokens(self) -> int:
        """What an answer may take where the client doesn't say."""
        return limits_of(self.path, self.config).max_output_tokens or GenerateRequest.max_tokens

    @property
    def style(self) -> Style:
        """How the model writes calls of tools."""
        return style_of(chat_template_of(self.path))

    async def load(self) -> None:
        """Load the file, so that problems with it are known immediately.

        Raises:
            ModelError: It can't be loaded.
        """
        await get_engine(self.path, self.config).generate(
            GenerateRequest(prompt="Hello", max_tokens=1)
        )

    async def generate(
        self, request: GenerateRequest, adapter: Path | None = None
    ) -> GeneratedText:
        """Answer a request, and count it. Cancelling the awaiting task ends it at its next token.

        Args:
            request: What is asked.
            adapter: A LoRA adapter that is applied to this answer alone.

        Raises:
            ClosingError: The server is being ended.
            SwarmError: Whatever the engine raises.
        """
        try:
            done = await self._answered(request, adapter)
        except BaseException as error:
            self.metrics.end(_outcome(error))
            raise
        self.metrics.end("completed")
        self.metrics.add(done)
        return done

    def close(self) -> None:
        """End all requests, and take no more."""
        self.closed = True
        for task in self._running:
            task.cancel()

    async def _answered(self, request: GenerateRequest, adapter: Path | None) -> GeneratedText:
        if self.closed:
            raise _closing()
        config = config_with(self.config, adapter) if adapter else self.config
        counted = _Counted(self.metrics, request)
        engine = get_engine(self.path, config)
        task = asyncio.ensure_future(
            engine.generate(replace(request, on_start=counted.start_from_thread))
        )
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self.closed and task.cancelled():
                raise _closing() from None
            raise
        finally:
            task.cancel()
            self._running.discard(task)
            counted.end()


class _Counted:
    """Where one request is: waiting, running or ended."""

    def __init__(self, metrics: ServerMetrics, request: GenerateRequest) -> None:
        self._metrics = metrics
        self._on_start: Callable[[int, int], None] | None = request.on_start
        self._loop = asyncio.get_running_loop()
        self._started = self._ended = False
        metrics.waiting += 1

    def start_from_thread(self, tokens: int, cached: int) -> None:
        # The engine's thread calls this. A loop that is closed counts no more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._start)
        if self._on_start:
            self._on_start(tokens, cached)

    def _start(self) -> None:
        if not self._ended:
            self._started = True
            self._metrics.waiting -= 1
            self._metrics.running += 1

    def end(self) -> None:
        self._ended = True
        if self._started:
            self._metrics.running -= 1
        else:
            self._metrics.waiting -= 1


def _closing() -> ClosingError:
    return ClosingError("The server is being ended.", "Send the request again when it is back.")


def _outcome(error: BaseException) -> Outcome:
    if isinstance(error, ClosingError):
        return "stopped"
    if isinstance(error, asyncio.CancelledError):
        return "disconnected"
    return "refused" if api_error(error).status < 500 else "failed"
