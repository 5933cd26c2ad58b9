"""A run's files are its owner's alone, whatever the umask."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from flow_runs import plan_of, run
from memory.hash_embedder import HashEmbedder
from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings
from prefect_swarm.files import HOME_VARIABLE
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.memory.index.generation_store import consolidate
from prefect_swarm.memory.store import Place, close_stores, open_store
from prefect_swarm.store.question import RunWaitingError
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server")

CODE = "def double(x: int) -> int:\n    return x + x\n"
KINDS = (
    "swarm",
    "swarm/runs",
    "swarm/runs/*/lock",
    "swarm/runs/*/*.json",
    "swarm/runs/*/*.jsonl",
    "swarm/runs/*/outputs/*",
    "swarm/runs/*/transcripts/*",
    "swarm/runs/*/steps/*",
    "swarm/runs/*/questions/*",
    "swarm/memory",
    "swarm/memory/episodes.sqlite*",
    "swarm/memory/personas.sqlite*",
    "swarm/memory/consolidate.lock",
    "swarm/memory/generations",
    "swarm/memory/generations/*",
    "swarm/memory/generations/*/*",
    "swarm/gates/*",
    "swarm/gates/*/*",
    "results",
    "results/*",
    "**/*",
)


def leave(folder: Path) -> None:
    """Have runs leave all kinds of files."""
    plan = plan_of({"id": "S1", "output": {"kind": "python"}, "gates": ["lint"]}, {"id": "S2"})
    with scripted(Script(lambda _: CODE)):
        assert run(plan).status == "completed"
        with pytest.raises(RunWaitingError):
            asyncio.run(swarm("Find out", plan=plan, options=SwarmOptions(approve=("plan",))))
    memory = folder / "swarm" / "memory"
    consolidate(open_store(Place(memory)).log, memory, HashEmbedder())


@pytest.fixture(scope="module", params=[0o000, 0o022], ids=["umask-000", "umask-022"])
def left(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("left")
    before = os.umask(request.param)
    try:
        with (
            pytest.MonkeyPatch.context() as patch,
            temporary_settings({PREFECT_LOCAL_STORAGE_PATH: folder / "results"}),
        ):
            patch.setenv(HOME_VARIABLE, str(folder / "swarm"))
            leave(folder)
            yield folder
    finally:
        os.umask(before)
        close_stores()


@pytest.mark.attack("private")
@pytest.mark.parametrize("kind", KINDS)
def test_others_may_do_nothing_with(left: Path, kind: str) -> None:
    found = list(left.glob(kind))
    assert found
    open_to_others = {
        str(path.relative_to(left)): oct(stat.S_IMODE(path.stat().st_mode))
        for path in found
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    }
    assert not open_to_others
