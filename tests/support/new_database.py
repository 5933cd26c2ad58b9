"""A Prefect database as it is when a server has just started: migrating one takes seconds."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

__all__ = ["keep_new_database", "kept_database"]

_SQLITE = "sqlite+aiosqlite:///"


def kept_database() -> Path:
    """Return where it lies."""
    return Path(os.environ["PREFECT_HOME"]) / "new.db"


def keep_new_database() -> None:
    """Copy the database of the tests' server, and have those that tests start begin with it."""
    from prefect.settings import get_current_settings

    url = get_current_settings().server.database.connection_url
    assert url is not None
    with closing(sqlite3.connect(url.get_secret_value().removeprefix(_SQLITE))) as source:
        for target in (kept_database(), kept_database().with_name("prefect.db")):
            with closing(sqlite3.connect(target)) as copy:
                source.backup(copy)
