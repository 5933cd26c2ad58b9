"""A checkpointer of LangGraph's that writes a file, as its one for SQLite does a database."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

__all__ = ["FileSaver"]


class FileSaver(InMemorySaver):
    """Has all it keeps in a file after each checkpoint, and after the writes of each task."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        if path.exists():
            storage, writes, blobs = pickle.loads(path.read_bytes())  # noqa: S301 - its own
            for thread, spaces in storage.items():
                self.storage[thread] = defaultdict(dict, spaces)
            self.writes.update(writes)
            self.blobs.update(blobs)

    def put(self, *args: Any, **fields: Any) -> Any:
        """Keep a checkpoint."""
        config = super().put(*args, **fields)
        self._write()
        return config

    def put_writes(self, *args: Any, **fields: Any) -> None:
        """Keep what a task has written."""
        super().put_writes(*args, **fields)
        self._write()

    def _write(self) -> None:
        storage = {thread: dict(spaces) for thread, spaces in self.storage.items()}
        whole = self._path.with_suffix(".new")
        whole.write_bytes(pickle.dumps((storage, dict(self.writes), dict(self.blobs))))
        whole.replace(self._path)
