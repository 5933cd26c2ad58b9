"""Free memory is what can be taken, by the machine's and the container's figures; processors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prefect_swarm.models.llama.sizing import free_memory, processor_name

GIB = 2**30


@pytest.fixture
def meminfo(tmp_path: Path) -> Path:
    path = tmp_path / "meminfo"
    path.write_text("MemTotal: 16777216 kB\nMemFree: 1024 kB\nMemAvailable:   8388608 kB\n")
    return path


def container(folder: Path, limit: str, anon: int) -> Path:
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.stat").write_text(f"anon {anon}\nfile 5\nanon_thp 7\n")
    return folder


def test_what_files_are_cached_in_is_free(meminfo: Path, tmp_path: Path) -> None:
    assert free_memory(meminfo, tmp_path) == 8 * GIB


def test_a_container_has_no_more_than_its_limit_leaves(meminfo: Path, tmp_path: Path) -> None:
    assert free_memory(meminfo, container(tmp_path, str(3 * GIB), GIB)) == 2 * GIB


def test_a_container_over_its_limit_has_nothing(meminfo: Path, tmp_path: Path) -> None:
    assert free_memory(meminfo, container(tmp_path, str(GIB), 2 * GIB)) == 0


@pytest.mark.parametrize("limit", ["max", str(2**62)])
def test_a_container_without_a_limit_has_what_the_machine_has(
    meminfo: Path, tmp_path: Path, limit: str
) -> None:
    assert free_memory(meminfo, container(tmp_path, limit, GIB)) == 8 * GIB


def test_without_linuxs_figures_free_pages_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {"SC_AVPHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", figures.__getitem__)
    assert free_memory(tmp_path / "none", tmp_path) == 4_096_000


def test_where_the_system_does_not_say_it_is_4_gib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sysconf")
    assert free_memory(tmp_path / "none", tmp_path) == 4 * GIB


def test_this_machine_has_some() -> None:
    assert free_memory() > 0


def test_a_processors_name_is_linuxs(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text("processor\t: 0\nmodel name\t: Some CPU: 2 GHz\n\nprocessor\t: 1\n")
    assert processor_name(path) == "Some CPU: 2 GHz"


def test_a_processor_without_a_name_is_called_by_its_kind(tmp_path: Path) -> None:
    assert processor_name(tmp_path / "none")
