"""Processes of `prefect-swarm serve`, and what they answer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

__all__ = ["Served", "events_of", "serving"]

_COMMAND = [sys.executable, "-c", "from prefect_swarm.cli import main; main()", "serve"]

# Each look is a request of its own, so that all of them take a minute and more.
_LOOKS = 3000


@dataclass
class Served:
    """A server that runs."""

    process: subprocess.Popen[str]
    url: str
    home: Path
    key: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, headers=self.headers, timeout=120)

    def post(self, path: str, body: Any) -> httpx.Response:
        return httpx.post(self.url + path, json=body, headers=self.headers, timeout=120)

    def chat(self, text: str, **fields: Any) -> httpx.Response:
        return self.post("/v1/chat/completions", self.body(text, **fields))

    def body(self, text: str, **fields: Any) -> dict[str, Any]:
        messages = [{"role": "user", "content": text}]
        return {"model": "demo", "messages": messages, "temperature": 0, "max_tokens": 16, **fields}

    def metric(self, name: str) -> float:
        found = re.search(
            rf"^prefect_swarm_{re.escape(name)} (\S+)$", self.get("/metrics").text, re.M
        )
        assert found
        return float(found[1])

    def wait_for(self, name: str, wanted: Callable[[float], bool]) -> None:
        """Read a metric until it is as wanted."""
        for _ in range(_LOOKS):
            if wanted(self.metric(name)):
                return
        raise AssertionError(f"{name} is {self.metric(name)}")


@contextmanager
def serving(home: Path, *arguments: object, **variables: str) -> Generator[Served]:
    """Start a server on a free port; it is killed at the end, if it still runs."""
    process = subprocess.Popen(
        [*_COMMAND, "--port", "0", *map(str, arguments)],
        env={**os.environ, "PREFECT_INTEGRATIONS_SWARM_HOME": str(home), **variables},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"at (http://\S+)/v1", line)
        assert found, line + process.stderr.read()
        yield Served(process, found[1], home)
    finally:
        process.kill()
        process.communicate()


def events_of(lines: Iterator[str]) -> Iterator[Any]:
    """The data of server-sent events; `[DONE]` as it stands."""
    for line in lines:
        if data := line.removeprefix("data: "):
            yield data if data == "[DONE]" else json.loads(data)
