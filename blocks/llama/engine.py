"""The process-wide engines: one for each model file and configuration, each with its own thread."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from ...errors import ModelError, ModelFailedError
from .adapter import check_adapter
from .api import EngineConfig, GeneratedText, GenerateRequest
from .gguf import check_model_file
from .jobs import Job
from .limits import engine_config_for

if TYPE_CHECKING:
    from .batcher import Batcher
    from .native import Native

__all__ = ["Engine", "close_engines", "get_engine"]

# Put in and found by `get_engine`, which `LlamaCppModel` calls at each request. A model can't hold
# its engine: several models share one, a request's adapter decides which one it is, and blocks and
# task parameters have to be serializable, which a thread is not.
_engines: dict[tuple[Path, EngineConfig], Engine] = {}
_lock = threading.Lock()


def get_engine(path: str | Path, config: EngineConfig | None = None) -> Engine:
    """The engine of a model file; loads nothing before its first request.

    Args:
        path: The model file.
        config: How it is served; None follows the file and this machine.

    Raises:
        ModelError: The model file or its adapter is not valid.
    """
    config = config or engine_config_for(path)
    if config.adapter is not None:
        config = replace(config, adapter=check_adapter(config.adapter))
    key = (check_model_file(path), config)
    with _lock:
        if key not in _engines:
            _engines[key] = Engine(*key)
        return _engines[key]


def close_engines() -> None:
    """Stop every engine's thread and free its memory; running requests get an error."""
    with _lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.close()


class Engine:
    """Serves requests from any thread and any event loop; one thread of its own calls llama.cpp."""

    def __init__(self, path: Path, config: EngineConfig) -> None:
        self.path = path
        self.config = config
        self._inbox: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._starting = threading.Lock()

    async def generate(self, request: GenerateRequest) -> GeneratedText:
        """Answer a request. Cancelling the awaiting task frees its place at the next token.

        Raises:
            ContextTooSmallError: Prompt and answer don't fit into the context.
            InputError: The grammar can't be parsed.
            ModelError: The model can't be loaded, or llama.cpp failed.
        """
        future: asyncio.Future[GeneratedText] = asyncio.get_running_loop().create_future()
        job = Job(request, _reply_to(future), time.monotonic())
        self._submit(job)
        try:
            return await future
        finally:
            job.cancelled = True

    def close(self) -> None:
        """End the thread; waits until the batch under way is computed."""
        with self._starting:
            self._closed = True
            self._inbox.put(None)
        if self._thread is not None:
            self._thread.join()

    def _submit(self, job: Job) -> None:
        with self._starting:
            if self._closed:
                raise _closed_error(self.path)
            if self._thread is None:
                name = f"llama {self.path.stem}"
                self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
                self._thread.start()
            self._inbox.put(job)

    def _serve(self) -> None:
        while (job := self._inbox.get()) is not None:
            try:
                native, batcher = self._load()
            except Exception as error:  # noqa: BLE001 - the thread has to outlive any failure
                job.reply(_load_error(self.path, error))
                continue
            try:
                batcher.add(job)
                self._run(batcher)
            finally:
                native.close()
            return

    def _load(self) -> tuple[Native, Batcher]:
        from .batcher import Batcher
        from .native import Native

        native = Native(self.path, self.config)
        try:
            return native, Batcher(native, self.config)
        except BaseException:
            native.close()
            raise

    def _run(self, batcher: Batcher) -> None:
        while self._receive_jobs(batcher):
            try:
                batcher.step()
            except Exception as error:  # noqa: BLE001 - the callers get it, the engine goes on
                batcher.fail(_step_error(self.path, error))
        batcher.fail(_closed_error(self.path))

    def _receive_jobs(self, batcher: Batcher) -> bool:
        """Move new jobs to the batcher, waiting for one only when there is nothing to do."""
        try:
            while True:
                job = self._inbox.get(block=not batcher.has_work)
                if job is None:
                    return False
                batcher.add(job)
        except Empty:
            return True


def _reply_to(
    future: asyncio.Future[GeneratedText],
) -> Callable[[GeneratedText | BaseException], None]:
    loop = future.get_loop()

    def settle(outcome: GeneratedText | BaseException) -> None:
        if future.done():
            return
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def reply(outcome: GeneratedText | BaseException) -> None:
        try:
            loop.call_soon_threadsafe(settle, outcome)
        except RuntimeError:
            return  # The loop is closed, so the caller no longer waits.

    return reply


def _load_error(path: Path, error: Exception) -> ModelError:
    if isinstance(error, ModelError):
        return error
    return ModelError(
        f"llama.cpp can't be started for {path}: {error}.", "Reinstall llama-cpp-python."
    )


def _step_error(path: Path, error: Exception) -> ModelError:
    if isinstance(error, ModelError):
        return error
    return ModelFailedError(f"The engine of {path} failed: {error!r}.", "Try again.")


def _closed_error(path: Path) -> ModelFailedError:
    return ModelFailedError(f"The engine of {path} was closed.", "Ask get_engine for it again.")


def _reset_after_fork() -> None:
    """In a forked child: threads don't survive a fork, and a thread may have held the lock."""
    global _lock
    _lock = threading.Lock()
    _engines.clear()


# A thread that is inside llama.cpp while the interpreter shuts down can crash the process.
atexit.register(close_engines)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
