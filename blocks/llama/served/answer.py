"""Answering a request where the model file is loaded already, else in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ....settings import SwarmSettings, home
from ..adapter import check_adapter
from ..api import EngineConfig, GeneratedText, GenerateRequest
from ..engine import get_engine
from .client import ServerGoneError, ask_server
from .record import ServedRecord, find_record

__all__ = ["answer", "records_folder"]

_logger = logging.getLogger("prefect_swarm.llama")


def records_folder() -> Path:
    """Where the servers of this machine can be found."""
    return home() / "served"


async def answer(path: Path, config: EngineConfig, request: GenerateRequest) -> GeneratedText:
    """Have a server of this machine answer that serves the file, or the engine of this process.

    Where a server goes away in the middle, the request is asked here, and its text goes on where
    it was.

    Args:
        path: A file that passed `check_model_file`.
        config: How this process serves it.
        request: What is asked.

    Raises:
        SwarmError: Whatever the engine raises.
    """
    record = _record(path, config)
    if record is not None:
        request = replace(request, seed=config.seed if request.seed is None else request.seed)
        # Its real path: the server may run in another folder.
        adapter = check_adapter(config.adapter) if config.adapter else None
        delivered = _Delivered(request.on_text)
        asked = replace(request, on_text=delivered.add) if request.on_text else request
        try:
            return await ask_server(record, asked, adapter)
        except ServerGoneError as error:
            _logger.warning(
                "The server of %s (process %d) went away: %s. The request is asked in this "
                "process.",
                path.name,
                record.pid,
                error.problem,
            )
        if request.on_text:
            request = replace(request, on_text=delivered.rest())
    return await get_engine(path, config).generate(request)


def _record(path: Path, config: EngineConfig) -> ServedRecord | None:
    folder = records_folder()
    if not folder.is_dir() or not SwarmSettings().served_models:
        return None
    return find_record(folder, path, config)


class _Delivered:
    """Hands text over, and knows how much of it was, should the answer begin anew."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._count = 0

    def add(self, piece: str) -> None:
        self._count += len(piece)
        if self._on_text:
            self._on_text(piece)

    def rest(self) -> Callable[[str], None]:
        """Hand over what comes after that: the same request has the same answer."""
        left = self._count

        def hand_over(piece: str) -> None:
            nonlocal left
            fresh = piece[left:]
            left = max(0, left - len(piece))
            if fresh and self._on_text:
                self._on_text(fresh)

        return hand_over
