"""A Prefect server and folders of a bench's own, which end with it."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from prefect.settings import (
    PREFECT_HOME,
    PREFECT_LOCAL_STORAGE_PATH,
    PREFECT_SERVER_ANALYTICS_ENABLED,
    temporary_settings,
)
from prefect.testing.utilities import prefect_test_harness
from prefect_swarm.models.llama.engine import close_engines

__all__ = ["fresh_home", "own_prefect"]

_HOME = "PREFECT_INTEGRATIONS_SWARM_HOME"


@contextmanager
def own_prefect() -> Generator[None]:
    """Start a server, and stop it and the local engines in the end; flows log nothing."""
    logging.disable(logging.CRITICAL)
    with TemporaryDirectory(prefix="prefect-swarm-bench-", ignore_cleanup_errors=True) as folder:
        here: dict[Any, Any] = {
            PREFECT_HOME: Path(folder),
            PREFECT_LOCAL_STORAGE_PATH: Path(folder, "storage"),
            PREFECT_SERVER_ANALYTICS_ENABLED: False,
        }
        with temporary_settings(updates=here), prefect_test_harness(server_startup_timeout=120):
            try:
                yield
            finally:
                close_engines()


@contextmanager
def fresh_home() -> Generator[None]:
    """Have runs, and what gates found before, lie in an empty folder: nothing is known in it."""
    before = os.environ.get(_HOME)
    with TemporaryDirectory(prefix="prefect-swarm-home-", ignore_cleanup_errors=True) as folder:
        os.environ[_HOME] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[_HOME]
            else:
                os.environ[_HOME] = before
