"""Episodes to remember, and running `prefect-swarm memory`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from persona_book import good_evidence
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode
from prefect_swarm.memory.log.sqlite import SqliteLog
from prefect_swarm.memory.personas.registry import invent, promote
from prefect_swarm.memory.personas.store import PersonaStore
from samples import episode
from typer.testing import Result

Invoke = Callable[..., Result]

RUN = "0192f0c4-7a41-4d3e-9b1c-aaaaaaaaaaaa"
WORD = "xylophone"
FAILED = episode(
    run=RUN,
    prompt="Write a function that makes a slug of a title",
    objective="A slug",
    succeeded=False,
    category=Category.LOGIC,
    error="gate unit: line 1: slugify('x') gave 'y'",
    decision="RETRY",
    rule="LOGIC",
    reward=-0.5,
    downstream=("S2",),
)
REPAIRED = FAILED.model_copy(
    update={"attempt": 2, "succeeded": True, "category": None, "error": "", "decision": None}
    | {"cause": "RETRY", "used": (FAILED.key,), "reward": 1.0}
)
TESTED = episode(
    run=RUN, step="S2", prompt="Test the slug", persona="test-engineer", upstream=("S1",)
)
OTHER = episode(7, prompt=f"Describe how a {WORD} sounds", persona="teacher")
ALL = (FAILED, REPAIRED, TESTED, OTHER)


def fill(home: Path, *episodes: Episode) -> None:
    log = SqliteLog(home / "memory" / "episodes.sqlite")
    log.append(episodes)
    log.close()


def memory_json(invoke: Invoke, *arguments: object, **more: Any) -> dict[str, Any]:
    result = invoke("memory", *arguments, "--json", **more)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def invent_persona(home: Path) -> PersonaStore:
    """A persona that an orchestrator invented, promoted on evidence of two attempts."""
    store = PersonaStore(home / "memory" / "personas.sqlite", home / "personas")
    prompt = f"You play the {WORD} and write about it."
    change = store.decide(
        "default", lambda known: invent(known, "Musician Zed", prompt, "chat/text", at=1.0)
    )
    assert change is not None
    found = good_evidence(REPAIRED.key, OTHER.key)
    store.decide(
        "default",
        lambda known: promote(known, change.persona, at=2.0).model_copy(
            update={"by": "review", "held": False, "evidence": found, "reason": "did well"}
        ),
    )
    return store
