"""Results lie where Prefect puts them, and the way to them is looked up once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from flow_runs import plan_of, run
from prefect.filesystems import LocalFileSystem
from prefect_swarm.flows.prefect_io.task_runs import ResultFolder
from scripted import Script, scripted


@pytest.mark.parametrize("name", ["a", "a/b.json", "./a", "a/../b", "a//b"])
def test_a_file_is_where_prefect_would_look(tmp_path: Path, name: str) -> None:
    base = tmp_path.resolve()
    ours, theirs = ResultFolder(basepath=str(base)), LocalFileSystem(basepath=str(base))
    asyncio.run(ours.awrite_path(name, b"x"))
    assert asyncio.run(theirs.aread_path(name)) == b"x"
    assert asyncio.run(ours.aread_path(str(base / name))) == b"x"


@pytest.mark.parametrize("name", ["../a", "/elsewhere/a", "a/../../b"])
def test_nothing_outside_of_the_folder_is_read(tmp_path: Path, name: str) -> None:
    (folder := tmp_path / "results").mkdir()
    for kind in (ResultFolder, LocalFileSystem):
        with pytest.raises(ValueError, match="outside of the"):
            asyncio.run(kind(basepath=str(folder)).aread_path(name))


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_a_run_looks_for_no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    resolve = LocalFileSystem._resolve_path  # pyright: ignore[reportPrivateUsage]

    def noted(self: LocalFileSystem, path: str) -> Path:
        looked.append(path)
        return resolve(self, path)

    monkeypatch.setattr(LocalFileSystem, "_resolve_path", noted)
    with scripted(Script()):
        result = run(plan_of({"id": "S1"}, {"id": "S2"}))
    assert result.status == "completed"
    assert looked == []
