"""Runs whose models are at a provider's server, and scripts of what it answers."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from flow_runs import run
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.limited_model import LimitedModel
from prefect_swarm.models.remote import remote_model
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.result import RunFailedError, SwarmResult
from provider_server import Asked, ProviderServer, Reply, provider_server

__all__ = [
    "ONCE",
    "InTurn",
    "closed_port",
    "end_at",
    "hurried",
    "model_at",
    "planned",
    "prose",
    "run_at",
    "serving",
    "works",
]

ONCE: dict[str, Any] = {"replans": 0}
"""A policy in which no other step is asked for in a failed one's place."""


_WORDS = [
    "harbour",
    "ledger",
    "orchard",
    "signal",
    "copper",
    "lantern",
    "valley",
    "archive",
    "bridge",
    "canvas",
    "delta",
    "engine",
    "fabric",
    "garden",
    "hollow",
    "island",
    "jacket",
    "kettle",
    "library",
    "meadow",
    "needle",
    "ocean",
    "pepper",
    "quarry",
    "ribbon",
    "saddle",
    "timber",
    "umbrella",
    "village",
    "window",
    "yarrow",
    "zephyr",
    "anchor",
    "basket",
    "candle",
    "dagger",
    "ember",
    "feather",
    "glacier",
    "hammer",
    "ivory",
    "jungle",
    "kernel",
    "ladder",
    "marble",
    "notebook",
    "oyster",
    "pocket",
    "quiver",
    "rocket",
    "shelter",
    "tunnel",
]


def prose(about: str, words: int = 400) -> str:
    """A text that says nothing twice, another one for each name."""
    draw = random.Random(about)  # noqa: S311 - the same text each time
    sentences: list[str] = [f"Findings about {about}."]
    count = 3
    while count < words:
        length = draw.randint(8, 14)
        sentence = " ".join(draw.choices(_WORDS, k=length)).capitalize()
        sentences.append(f"{sentence} {draw.randint(10, 9999)}.")
        count += length + 1
    return " ".join(sentences)


@dataclass
class InTurn:
    """Answers the requests with these, one after the other, and then with the last."""

    replies: Sequence[Reply]
    _given: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, asked: Asked) -> Reply:
        with self._lock:
            self._given += 1
            return self.replies[min(self._given, len(self.replies)) - 1]


def works(asked: Asked) -> Reply:
    """Answer every step with a text of its own."""
    return Reply(f"A finding about {asked.prompt.splitlines()[-1]}.")


def serving(reply: Callable[[Asked], Reply]) -> AbstractContextManager[ProviderServer]:
    """Serve models that are listed: whether they are served is found out without a chat request."""
    return provider_server(reply, models=("strong-model", "other-model"))


def run_at(server: ProviderServer, plan: TaskIR, **options: Any) -> SwarmResult:
    """Run a plan on the server's model, without a memory."""
    return run(plan, **{"model": server.name(), "memory": False, **options})


def end_at(server: ProviderServer, plan: TaskIR, **options: Any) -> SwarmResult:
    """Run a plan to its end, whether or not a step succeeds."""
    try:
        return run_at(server, plan, **options)
    except RunFailedError as error:
        if error.result is None:
            raise
        return error.result


def planned(server: ProviderServer, objective: str, **options: Any) -> SwarmResult:
    """Have the server's model plan an objective, and run the plan."""
    given: dict[str, Any] = {"model": server.name(), "memory": False, **options}
    return asyncio.run(swarm(objective, options=SwarmOptions(**given)))


@contextmanager
def hurried(server: ProviderServer) -> Generator[list[float]]:
    """Let waits for a server take no time; the list has their seconds."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    def clock() -> float:
        return time.monotonic() + sum(slept)

    limiter = LimitedModel(remote_model("openai:any", base_url=server.url)).limiter
    before = limiter._clock, limiter._sleep
    limiter._clock, limiter._sleep = clock, sleep
    try:
        yield slept
    finally:
        limiter._clock, limiter._sleep = before


def closed_port() -> int:
    """A port of loopback that nothing listens at."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def model_at(port: int, name: str = "strong-model") -> str:
    """The name of a model that is said to be at a port of loopback."""
    return f"openai:{name}@http://127.0.0.1:{port}/v1"
