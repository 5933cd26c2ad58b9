"""The rows that were measured, kept in a file, so that a measurement that broke off goes on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import asdict
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from own_prefect import OwnServer

from .scripted import JOBS
from .stored import Stored
from .trial import Row, try_job

__all__ = ["NAMES", "ROWS", "measure_rows", "read_rows"]

NAMES = {
    "prefect_swarm": "Prefect Swarm",
    "langgraph": "LangGraph",
    "pydantic_ai_dbos": "pydantic-ai on DBOS",
    "pydantic_ai_prefect": "pydantic-ai on Prefect",
    "agent_framework": "Microsoft Agent Framework",
    "crewai": "CrewAI",
}
"""Each way, and how it is called."""
_ON_PREFECT = ("prefect_swarm", "pydantic_ai_prefect")
ROWS = Path(__file__).parents[2] / "build" / "alternatives.jsonl"
"""Delete it to measure anew."""


def measure_rows(ways: Iterable[str], jobs: Iterable[str] = JOBS) -> list[Row]:
    """Return a row for each way and job; measure those that aren't in the file yet."""
    wanted = list(product(ways, jobs))
    there = {(row.way, row.job): row for row in read_rows()}
    missing = [pair for pair in wanted if pair not in there]
    with _prefect_server(any(way in _ON_PREFECT for way, _ in missing)) as url:
        for way, job in missing:
            print(f"{way} {job} …", file=sys.stderr)
            there[way, job] = _keep(try_job(way, job, url))
    return [there[pair] for pair in wanted]


@contextmanager
def _prefect_server(is_needed: bool) -> Generator[str]:
    """Serve inside, where one is needed and `PREFECT_API_URL` names none; its API's address."""
    if there := os.environ.get("PREFECT_API_URL"):
        yield there
        return
    with TemporaryDirectory(prefix="alternatives-", ignore_cleanup_errors=True) as folder:
        server = OwnServer(Path(folder))
        try:
            if is_needed:
                server.start()
            yield server.url
        finally:
            server.stop()


def _keep(row: Row) -> Row:
    ROWS.parent.mkdir(exist_ok=True)
    with ROWS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")
    return row


def read_rows() -> list[Row]:
    """Return the rows of the file."""
    if not ROWS.exists():
        return []
    values: list[dict[str, Any]] = [
        json.loads(line) for line in ROWS.read_text("utf-8").splitlines()
    ]
    return [Row(stored=Stored(**value.pop("stored")), **value) for value in values]
