"""The embedded model is requantised once, whole or not at all, and stands for its source."""

from __future__ import annotations

import asyncio
import logging
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from prefect_swarm.errors import StorageError
from prefect_swarm.models.llama import prepared
from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest, Message
from prefect_swarm.models.llama.engine import Engine, close_engines
from prefect_swarm.models.llama.gguf import (
    SHIPPED_ADAPTER,
    check_base,
    file_hash,
    planner_adapter,
    read_tensors,
    source_of,
)
from prefect_swarm.models.llama.once import bytes_by_type
from prefect_swarm.models.llama.prepared import (
    find_prepared,
    make_requantised,
    requantisation_for,
    weights_of,
)
from prefect_swarm.models.llama.quantiser import processor

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        not processor().startswith("x86"), reason="Q4_1 is left as it is on this processor"
    ),
]

_SETTING = "PREFECT_INTEGRATIONS_SWARM_REQUANTISE"
QUESTION = GenerateRequest(
    messages=(Message("user", "What do bees do?"),), max_tokens=12, temperature=0
)


@pytest.fixture(scope="module")
def source(demo_path: Path) -> Path:
    return demo_path.resolve()


@pytest.fixture(scope="module")
def whole(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A requantised file, made once for all tests of this module."""
    change = requantisation_for(source)
    assert change is not None
    path = tmp_path_factory.mktemp("whole") / "model.gguf"
    make_requantised(source, path, change)
    return path


@pytest.fixture
def place(source: Path, swarm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the embedded model's requantised form belongs; it isn't there yet."""
    monkeypatch.setenv(_SETTING, "auto")
    yield swarm_home / "weights" / f"{file_hash(source)}-q8_0.gguf"
    shutil.rmtree(swarm_home, ignore_errors=True)  # 145 MB a file


@pytest.fixture
def made(place: Path, whole: Path) -> Path:
    """The requantised form in its place."""
    place.parent.mkdir(parents=True)
    place.hardlink_to(whole)
    return place


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def full_disk(_: Path) -> Usage:
    return Usage(1, 1, 0)


class Making(NamedTuple):
    """What making the file comes to."""

    used: Path
    lines: list[str]


@pytest.fixture
def making(source: Path) -> Callable[[], Making]:
    def make() -> Making:
        lines: list[str] = []
        return Making(weights_of(source, lines.append), lines)

    return make


def test_the_first_use_makes_it_and_says_so(place: Path, making: Callable[[], Making]) -> None:
    done = making()
    assert done.used == place
    assert done.lines == ["Preparing the model's weights for this processor: once, about 1 s."]
    assert "Q4_1" not in bytes_by_type(read_tensors(place, "model file"))


def test_the_second_use_makes_nothing(made: Path, making: Callable[[], Making]) -> None:
    assert making() == Making(made, [])


def test_nothing_but_the_file_and_its_lock_stays(
    place: Path, source: Path, making: Callable[[], Making]
) -> None:
    making()
    assert {path.name for path in place.parent.iterdir()} == {
        place.name,
        f"{file_hash(source)}.lock",
    }


@pytest.mark.parametrize(
    "kept",
    [0, 4, 1_000_000, -100],
    ids=["nothing", "the magic", "a part of its weights", "all but its end"],
)
def test_a_file_that_is_cut_is_made_again(
    kept: int, place: Path, whole: Path, making: Callable[[], Making]
) -> None:
    place.parent.mkdir(parents=True)
    shutil.copyfile(whole, place)
    cut(place, kept % whole.stat().st_size)
    assert len(making().lines) == 1
    assert place.stat().st_size == whole.stat().st_size


def test_another_format_is_made_again(place: Path, making: Callable[[], Making]) -> None:
    place.parent.mkdir(parents=True)
    place.write_bytes(b"half")
    assert len(making().lines) == 1


def cut(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


def test_a_file_made_of_another_source_is_made_again(
    place: Path, source: Path, making: Callable[[], Making]
) -> None:
    place.parent.mkdir(parents=True)
    shutil.copyfile(source, place)
    assert len(making().lines) == 1
    assert source_of(place) == file_hash(source)


def test_what_a_killed_process_was_writing_is_removed(
    place: Path, making: Callable[[], Making]
) -> None:
    remains = place.parent / f".{place.name[:40]}-killed"
    place.parent.mkdir(parents=True)
    remains.write_bytes(b"half")
    making()
    assert not remains.exists()


def test_two_processes_at_once_end_with_the_same_whole_file(place: Path, whole: Path) -> None:
    code = (
        "from prefect_swarm.models.llama.prepared import weights_of\n"
        "from prefect_swarm.models.llama import demo_model_path\n"
        "print(weights_of(demo_model_path().resolve(), lambda line: print('made')))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = [process.communicate()[0].split() for process in started]
    assert sorted(len(words) for words in printed) == [1, 2], "one of the two makes it"
    assert {words[-1] for words in printed} == {str(place)}
    assert place.stat().st_size == whole.stat().st_size


def test_without_room_the_source_is_used_and_a_line_says_why(
    place: Path, source: Path, making: Callable[[], Making], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", full_disk)
    done = making()
    assert done.used == source
    assert "has no room" in done.lines[-1]
    assert "slower" in done.lines[-1]
    assert not place.exists()


def test_a_disk_that_fills_up_meanwhile_leaves_nothing(
    place: Path, source: Path, making: Callable[[], Making]
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        done = making()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert done.used == source
    assert "slower" in done.lines[-1]
    assert [path.suffix for path in place.parent.iterdir()] == [".lock"]


def test_a_folder_that_can_not_be_made_is_no_error(
    place: Path, source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place.parent.parent.mkdir(parents=True)
    place.parent.write_text("a file where the folder belongs")
    with caplog.at_level(logging.WARNING, logger="prefect_swarm.weights"):
        assert weights_of(source) == source
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(place.parent) in caplog.text


def test_off_is_obeyed(
    place: Path, source: Path, making: Callable[[], Making], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_SETTING, "off")
    assert making() == Making(source, [])
    assert not place.parent.exists()


def test_a_file_of_the_users_is_left_alone(place: Path, source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(source.read_bytes())
    assert find_prepared(mine) is None
    assert weights_of(mine) == mine
    assert not place.parent.exists()


def test_a_processor_that_is_fast_with_the_file_gets_the_file(
    place: Path, source: Path, making: Callable[[], Making], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "processor", lambda: "other")
    assert making() == Making(source, [])
    assert not place.parent.exists()


class TestServing:
    def test_it_answers_in_the_sources_name(self, made: Path, source: Path) -> None:
        engine = Engine(source, EngineConfig(n_ctx=256, n_slots=1))
        try:
            assert "bees" in asyncio.run(engine.generate(QUESTION)).text.lower()
        finally:
            engine.close()
        assert engine.path == source

    def test_what_llama_cpp_refuses_is_removed_and_the_source_answers(
        self, made: Path, source: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from prefect_swarm.models.llama import weights

        opened: list[Path] = []
        open_file = weights._open

        def refuse(path: Path, n_gpu_layers: int) -> object:
            opened.append(path)
            return None if path == made else open_file(path, n_gpu_layers)

        monkeypatch.setattr(weights, "_open", refuse)
        close_engines()  # or it may be loaded already
        engine = Engine(source, EngineConfig(n_ctx=256, n_slots=1))
        try:
            assert asyncio.run(engine.generate(QUESTION)).text
        finally:
            engine.close()
        assert opened == [made, source]
        assert not made.exists()

    def test_the_planners_adapter_fits_what_was_made_of_its_base(
        self, whole: Path, source: Path
    ) -> None:
        assert planner_adapter(whole) == planner_adapter(source) == SHIPPED_ADAPTER.resolve()
        check_base(SHIPPED_ADAPTER, whole)

    def test_an_engine_applies_the_adapter_over_it(self, made: Path, source: Path) -> None:
        config = EngineConfig(n_ctx=256, n_slots=1, adapter=SHIPPED_ADAPTER)
        engine = Engine(source, config)
        try:
            assert asyncio.run(engine.generate(QUESTION)).text
        finally:
            engine.close()


def test_no_room_for_a_file_of_the_users_is_an_error(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = requantisation_for(source)
    assert change is not None
    monkeypatch.setattr(shutil, "disk_usage", full_disk)
    with pytest.raises(StorageError, match="has no room"):
        make_requantised(source, tmp_path / "new.gguf", change)
