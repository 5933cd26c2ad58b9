"""Hold an artifact against gates, as one Prefect task run."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from prefect.states import Cancelled, Completed

from ..frozen import Frozen
from ..gates import (
    Gate,
    GateCache,
    GateResult,
    Subject,
    build_pipeline,
    check,
    gate_name,
    run_pipeline,
)
from ..settings import home
from ..text import visible
from .failed_result import failed_result
from .race import run_in_race
from .spans import gate_span, note_verdict
from .tags import tag_task_run
from .verdicts import summary

__all__ = ["Inspection", "Verdicts", "gates", "verdicts_heard"]


class Inspection(Frozen):
    """What some gates are to look at.

    Attributes:
        key: The cache key: the attempt's that made the artifact, and a hash of all that is checked.
        gates: Their names, `?` behind those that the artifact need not pass.
        race: The race that they run in.
    """

    key: str
    gates: tuple[str, ...]
    race: str = ""
    subject: Subject

    @classmethod
    def of(cls, attempt: str, gates: Sequence[str], subject: Subject, race: str) -> Inspection:
        """Return the inspection of what an attempt made; `attempt` is its own cache key."""
        # Not the subject's own digest: a text may have half of a character, which is no UTF-8.
        checked = json.dumps([*gates, subject.model_dump(mode="json")])
        key = f"{attempt}.gates.{hashlib.sha256(checked.encode()).hexdigest()[:16]}"
        return cls(key=key, gates=tuple(gates), subject=subject, race=race)


class Verdicts(Frozen):
    """What the gates of one inspection found; those behind a failure that stops found nothing."""

    results: tuple[GateResult, ...]


@dataclass(frozen=True, slots=True)
class _Hearing:
    light: AbstractAsyncContextManager[object]
    listener: Callable[[GateResult], None]


# `verdicts_heard` sets it around a call of the task, which runs in the same event loop; the task
# finds it, since its parameters can't hold either.
_hearing: ContextVar[_Hearing | None] = ContextVar("gate_verdicts", default=None)


@contextmanager
def verdicts_heard(
    listener: Callable[[GateResult], None], light: asyncio.Semaphore
) -> Generator[None]:
    """Let a listener hear each result of the task runs inside as soon as it is found.

    Args:
        listener: Hears nothing of a task run whose result is stored already.
        light: Bounds the gates of the stage `light`.
    """
    token = _hearing.set(_Hearing(light, listener))
    try:
        yield
    finally:
        _hearing.reset(token)


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    return parameters["inspection"]["key"]


@task(
    name="gates",
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
)
async def gates(inspection: dict[str, Any], name: str) -> Any:  # noqa: ARG001 - the run's name
    """Hold an artifact against gates, stage by stage; the result has what each of them found.

    Where it has to pass one and doesn't, that is a Failed state, which carries it all the same.
    """
    asked = Inspection.model_validate(inspection)
    tag_task_run(*(f"gate: {gate_name(asked_for)}" for asked_for in asked.gates))
    # `flows/attempt.py` opened the race, if any, in this process; it is found by its name.
    found = await run_in_race(
        asked.race, run_pipeline(build_pipeline(asked.gates), asked.subject, _inspect)
    )
    if found is None:
        return Cancelled(message="Another candidate passed first.")
    content = Verdicts(results=found.results).model_dump(mode="json")
    message = summary(found.results, asked.gates)
    if found.stopped_by is not None:
        return await failed_result(message, content)
    return Completed(message=visible(message), data=content)


async def _inspect(gate: Gate, subject: Subject, required: bool) -> GateResult:
    hearing = _hearing.get() or _Hearing(nullcontext(), lambda _: None)
    async with hearing.light if gate.stage == "light" else nullcontext():
        with gate_span(gate.name, required=required) as span:
            cache = GateCache(home() / "gates")
            result = await check(gate, subject, required=required, cache=cache)
            note_verdict(span, result)
    hearing.listener(result)
    return result
