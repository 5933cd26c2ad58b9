"""States on disk are found by another process; what is damaged or too much is removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prefect_swarm.models.llama.prefixes import PrefixFolder, PrefixState


def state(*tokens: int, size: int = 100) -> PrefixState:
    return PrefixState(list(tokens), bytes(range(size)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "prefixes"


def test_another_process_finds_and_reads_what_was_written(folder: Path) -> None:
    PrefixFolder(folder, 1000).write(state(1, 2, 3))
    other = PrefixFolder(folder, 1000)
    path, length = other.find([1, 2, 3, 4])
    assert path is not None
    assert length == 3
    found = other.load(path)
    assert found is not None
    assert (found.tokens, found.data) == ([1, 2, 3], bytes(range(100)))


def test_the_longest_common_beginning_is_found(folder: Path) -> None:
    states = PrefixFolder(folder, 1000)
    states.write(state(1, 2))
    states.write(state(1, 2, 3, 4))
    assert states.find([1, 2, 3])[1] == 3
    assert states.find([5]) == (None, 0)


@pytest.mark.parametrize("cut", [0, 5, 30, 120])
def test_a_file_that_ends_early_is_no_state(folder: Path, cut: int) -> None:
    PrefixFolder(folder, 1000).write(state(1, 2, 3))
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:cut])
    assert PrefixFolder(folder, 1000).find([1, 2, 3]) == (None, 0)


def test_a_file_that_was_changed_is_removed_when_it_is_read(folder: Path) -> None:
    PrefixFolder(folder, 1000).write(state(1, 2, 3))
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    states = PrefixFolder(folder, 1000)
    assert states.find([1, 2, 3])[0] == path
    assert states.load(path) is None
    assert not path.exists()
    assert states.find([1, 2, 3]) == (None, 0)


def test_what_was_not_used_for_longest_makes_room(folder: Path) -> None:
    states = PrefixFolder(folder, 300)
    states.write(state(1))
    states.write(state(2))
    for at, path in enumerate([states.find([2])[0], states.find([1])[0]]):
        assert path is not None
        os.utime(path, (at, at))
    states.write(state(3))
    assert states.find([1])[1] == 1
    assert states.find([2]) == (None, 0)
    assert len(list(folder.iterdir())) == 2


def test_a_folder_that_cannot_be_made_costs_nothing_but_the_states(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    states = PrefixFolder(tmp_path / "file" / "prefixes", 300)
    states.write(state(1))
    assert states.find([1]) == (None, 0)


def test_a_state_that_is_larger_than_all_may_be_is_not_written(folder: Path) -> None:
    states = PrefixFolder(folder, 99)
    states.write(state(1))
    assert states.find([1]) == (None, 0)
    assert not folder.exists()


KILLED_WRITER = """
import os, sys
from pathlib import Path
from prefect_swarm import files
from prefect_swarm.models.llama import prefixes

def write_half(path, data):
    with files.replace_atomically(path) as temporary:
        temporary.write_bytes(data[:10])
        os._exit(0)

prefixes.write_atomically = write_half
state = prefixes.PrefixState([1], bytes(100))
prefixes.PrefixFolder(Path(sys.argv[1]), 1000).write(state)
"""


@pytest.fixture
def remains(folder: Path) -> Path:
    """What a process left that was killed while it wrote."""
    subprocess.run([sys.executable, "-c", KILLED_WRITER, str(folder)], check=True)
    (path,) = folder.iterdir()
    assert path.name.startswith(".")
    return path


def test_what_a_killed_writer_left_is_removed_when_it_is_old(folder: Path, remains: Path) -> None:
    os.utime(remains, (1, 1))
    PrefixFolder(folder, 1000).write(state(1))
    assert [path.suffix for path in folder.iterdir()] == [".prefix"]


def test_what_may_be_being_written_stays(folder: Path, remains: Path) -> None:
    assert PrefixFolder(folder, 1000).find([1]) == (None, 0)
    assert remains.exists()
