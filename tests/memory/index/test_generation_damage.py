"""Whatever is cut, changed or missing is reported, everything is still found, a rebuild repairs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from dict_log import DictLog, episode
from generations import contents
from hash_embedder import HashEmbedder
from prefect_swarm.memory.index import generation
from prefect_swarm.memory.index.generation_store import consolidate
from prefect_swarm.memory.index.reader import Reader

EMBEDDER = HashEmbedder()
FILES = (
    "current",
    "generations/2/manifest.json",
    "generations/2/graph.kuzu",
    "generations/2/vectors/0/vectors.faiss",
    "generations/2/vectors/0/positions.npy",
)
CUTS: dict[str, Callable[[int], int]] = {
    "at the start": lambda size: 0,
    "after a byte": lambda size: 1,
    "within the head": lambda size: min(40, size // 3),
    "at a page": lambda size: (size - 1) // 4096 * 4096,
    "in the middle": lambda size: size // 2,
    "before the last byte": lambda size: size - 1,
}
LOG = DictLog(episode(f"r{n}", prompt=f"Write about {n} seas") for n in range(6))
LATER = [episode("later", prompt="Bake a cake")]


@pytest.fixture(scope="module")
def undamaged_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two generations, and one episode that came after them."""
    folder = tmp_path_factory.mktemp("whole")
    consolidate(LOG, folder, EMBEDDER)
    consolidate(LOG, folder, EMBEDDER, full=True)
    LOG.append(LATER)
    return folder


@pytest.fixture
def folder(undamaged_folder: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(undamaged_folder, tmp_path / "memory"))


def assert_damage_is_reported(folder: Path, name: str) -> None:
    reader = Reader(LOG, folder, EMBEDDER)
    assert len(reader.search("default", "seas", 99)) == 7
    assert reader.search("default", "Bake a cake", 1)[0].position == 7
    status = reader.status()
    assert status.generation is None
    assert status.damage is not None
    assert name in status.damage.path
    assert reader.graph() is None
    reader.close()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("cut", CUTS)
def test_a_file_that_is_cut(name: str, cut: str, folder: Path) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: CUTS[cut](len(data))])
    assert_damage_is_reported(folder, name)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_gone(name: str, folder: Path) -> None:
    (folder / name).unlink()
    assert_damage_is_reported(folder, name)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_byte_that_is_another(name: str, folder: Path) -> None:
    data = bytearray((folder / name).read_bytes())
    data[-1] ^= 1
    (folder / name).write_bytes(data)
    assert_damage_is_reported(folder, name)


def test_a_file_that_grew(folder: Path) -> None:
    with (folder / FILES[2]).open("ab") as file:
        file.write(b"\0")
    assert_damage_is_reported(folder, FILES[2])


@pytest.mark.parametrize("text", ["", "7", "2 ", "x y\n", "2 " + "0" * 64 + "\n", "²  \n"])
def test_a_pointer_that_says_something_else(text: str, folder: Path) -> None:
    (folder / "current").write_text(text, encoding="utf-8")
    reader = Reader(LOG, folder, EMBEDDER)
    assert len(reader.search("default", "seas", 99)) == 7
    assert reader.status().damage is not None


def test_a_generation_that_is_gone(folder: Path) -> None:
    shutil.rmtree(folder / "generations" / "2")
    assert_damage_is_reported(folder, "generations/2")


def test_a_generation_of_another_layout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "FORMAT", generation.FORMAT + 1)
    reader = Reader(LOG, folder, EMBEDDER)
    assert len(reader.search("default", "seas", 99)) == 7
    damage = reader.status().damage
    assert damage is not None
    assert damage.kind == "version"


@pytest.mark.parametrize("name", FILES)
def test_a_consolidation_repairs_it_and_says_so(name: str, folder: Path, tmp_path: Path) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2])
    reader = Reader(LOG, folder, EMBEDDER)
    assert reader.status().damage is not None
    done = consolidate(LOG, folder, EMBEDDER)
    assert done.damage is not None
    assert name in done.damage.path
    assert done.full
    assert reader.status()[:5] == (done.generation, 7, 0, "", None)
    consolidate(LOG, tmp_path / "again", EMBEDDER)
    assert contents(folder) == contents(tmp_path / "again")


def test_what_is_cut_after_it_was_opened_is_found_at_the_next_opening(folder: Path) -> None:
    reader = Reader(LOG, folder, EMBEDDER)
    assert reader.status().damage is None
    reader.close()
    data = (folder / FILES[3]).read_bytes()
    (folder / FILES[3]).write_bytes(data[:-1])
    assert_damage_is_reported(folder, FILES[3])
