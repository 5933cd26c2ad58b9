"""The process-wide engines: one for each model file and configuration, each with its own thread."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from ...errors import ModelError, ModelFailedError
from .api import EngineConfig, GeneratedText, GenerateRequest
from .gguf import check_adapter, check_model_file
from .limits import engine_config_for, estimate
from .prefixes import stored_prefixes
from .residency import MemoryUse, MemoryUser, gigabytes, model_memory
from .slots import Job

if TYPE_CHECKING:
    from .batcher import Batcher
    from .native import Native

__all__ = ["Engine", "close_engines", "get_engine"]


_logger = logging.getLogger("prefect_swarm.models")

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


class _Unload:
    """What asks an engine's thread to free its memory."""


class Engine:
    """Serves requests from any thread and any event loop; one thread of its own calls llama.cpp.

    Its model loads at the first request. Where other models need the memory it is unloaded, and
    loads again at the next request.
    """

    def __init__(self, path: Path, config: EngineConfig) -> None:
        self.path = path
        self.config = config
        self._inbox: SimpleQueue[Job | _Unload | None] = SimpleQueue()
        self._unloading = False
        self._thread: threading.Thread | None = None
        self._closed = False
        self._starting = threading.Lock()
        self._room = model_memory()
        self._user = MemoryUser(
            name=path.stem,
            file=(path, config.n_gpu_layers),
            use=estimate(path, config),
            ask_to_leave=self.unload,
            gave_up=lambda: self._closed,
            pinned=config.keep_loaded,
        )

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

    @property
    def memory_use(self) -> MemoryUse:
        """The memory that it takes when it is loaded: estimated at first, then as measured."""
        return self._user.use

    def unload(self) -> None:
        """Free the memory once the requests so far have ended; the next request loads again.

        It returns immediately.
        """
        self._inbox.put(_Unload())

    def close(self) -> None:
        """End the thread; waits until the batch under way is computed."""
        with self._starting:
            self._closed = True
            self._inbox.put(None)
        self._room.wake()
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
            if isinstance(job, _Unload) or job.cancelled:
                continue
            try:
                entered = self._room.enter(self._user)
            except Exception as error:  # noqa: BLE001 - the thread has to outlive any failure
                job.reply(_load_error(self.path, error))
                continue
            if not entered:
                job.reply(_closed_error(self.path))
                continue
            try:
                self._serve_loaded(job)
            finally:
                self._room.leave(self._user)

    def _serve_loaded(self, job: Job) -> None:
        began = time.monotonic()
        _logger.info("Loading the model %s: %s.", self.path.stem, gigabytes(sum(self._user.use)))
        try:
            native, batcher = self._load()
        except Exception as error:  # noqa: BLE001 - the thread has to outlive any failure
            job.reply(_load_error(self.path, error))
            return
        try:
            self._room.correct(self._user, native.memory_use)
            self._log_loaded(time.monotonic() - began)
            self._unloading = False
            batcher.add(job)
            self._run(batcher)
        finally:
            native.close()
            _logger.info("Unloaded the model %s.", self.path.stem)

    def _load(self) -> tuple[Native, Batcher]:
        from .batcher import Batcher
        from .native import Native

        native = Native(self.path, self.config)
        try:
            stored = stored_prefixes(self.path, self.config)
            return native, Batcher(native, self.config, stored=stored)
        except BaseException:
            native.close()
            raise

    def _log_loaded(self, seconds: float) -> None:
        weights, own = map(gigabytes, self._user.use)
        _logger.info(
            "Loaded the model %s in %.1f s: %s of weights and %s of context.",
            self.path.stem,
            seconds,
            weights,
            own,
        )

    def _run(self, batcher: Batcher) -> None:
        """Answer requests until the engine is closed, or unloading and without work."""
        while self._receive_jobs(batcher):
            try:
                batcher.step()
            except Exception as error:  # noqa: BLE001 - the callers get it, the engine goes on
                batcher.fail(_step_error(self.path, error))
        batcher.fail(_closed_error(self.path))

    def _receive_jobs(self, batcher: Batcher) -> bool:
        """Move new jobs to the batcher, waiting for one only when there is nothing to do.

        Returns:
            Whether to go on computing.
        """
        try:
            while not self._unloading:
                if idle := not batcher.has_work:
                    self._room.mark(self._user, busy=False)
                job = self._inbox.get(block=idle)
                if job is None:
                    self._inbox.put(None)  # `_serve` ends by it, too.
                    return False
                if isinstance(job, _Unload):
                    self._unloading = True
                else:
                    self._room.mark(self._user, busy=True)
                    batcher.add(job)
        except Empty:
            return True
        return batcher.has_work and not self._closed


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
