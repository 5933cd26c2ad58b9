"""The arms: with a memory, without one, and without one of its mechanisms at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from prefect_swarm.flows import memory as run_memory
from prefect_swarm.memory.learning import advise
from prefect_swarm.memory.learning.beliefs import Beliefs
from prefect_swarm.memory.learning.choice import Suggestion
from prefect_swarm.memory.learning.lesson import Injection
from prefect_swarm.tasks import memory as recalling

__all__ = ["ALL", "ARMS", "MECHANISMS", "OFF", "switched_off"]


def _first(choices: Any, *_: Any, **__: Any) -> Suggestion:
    return Suggestion(choices[0], "rules", "switched off")


MECHANISMS: Mapping[str, tuple[object, str, Callable[..., Any]]] = {
    "personas": (advise, "choose_persona", _first),
    "tiers": (advise, "choose_tier", _first),
    "lessons": (advise, "_choose_lessons", lambda *_: Injection("", ())),
    "mitigations": (recalling, "precedents", lambda *_: ()),
    "durations": (Beliefs, "duration", lambda *_: None),
    "earlier plans": (run_memory, "similar_plans", lambda *_: ()),
}
"""What each mechanism is switched off by: the one function that it comes from."""
OFF, ALL = "memory off", "memory on"
ARMS = (OFF, ALL, *(f"without {name}" for name in MECHANISMS))


@contextmanager
def switched_off(arm: str) -> Generator[None]:
    """Run without the mechanism that an arm does without."""
    name = arm.removeprefix("without ")
    if name not in MECHANISMS:
        yield
        return
    place, attribute, instead = MECHANISMS[name]
    with patch.object(place, attribute, instead):
        yield
