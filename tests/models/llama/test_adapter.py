"""An adapter belongs to one engine; engines of a file share its weights, with or without one."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from adapters import ADAPTED_LAYERS, write_adapter
from prefect_swarm.errors import ModelError
from prefect_swarm.models.llama import gguf as adapter
from prefect_swarm.models.llama import library
from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest, Message
from prefect_swarm.models.llama.engine import Engine, close_engines, get_engine
from prefect_swarm.models.llama.gguf import file_hash, planner_adapter
from shallow_model import write_shallow

QUESTION = GenerateRequest(
    messages=(Message("user", "What do bees do?"),), max_tokens=12, temperature=0
)
BARE = EngineConfig(n_ctx=256, n_slots=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("adapters")


@pytest.fixture(scope="module")
def adapter_config(folder: Path) -> EngineConfig:
    return EngineConfig(n_ctx=256, n_slots=1, adapter=write_adapter(folder / "a.gguf"))


@pytest.fixture(scope="module")
def adapted_path(demo_path: Path, folder: Path) -> Path:
    """The layers of the embedded model that the adapter changes."""
    return write_shallow(demo_path, folder / "model.gguf", ADAPTED_LAYERS)


@pytest.fixture
def engine(adapted_path: Path) -> Iterator[Callable[[EngineConfig], Engine]]:
    """Engines of the test's own, closed at its end."""
    made: list[Engine] = []

    def make(config: EngineConfig) -> Engine:
        made.append(Engine(adapted_path, config))
        return made[-1]

    yield make
    for started in made:
        started.close()


def answer_of(engine: Engine) -> str:
    return asyncio.run(engine.generate(QUESTION)).text


def count_calls(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """A list that grows with each call of a function of llama.cpp."""
    calls: list[str] = []
    function: Callable[..., Any] = getattr(library.lib, name)

    def call(*given: object) -> Any:
        calls.append(name)
        return function(*given)

    monkeypatch.setattr(library.lib, name, call)
    return calls


@pytest.mark.model
class TestServing:
    def test_an_adapter_changes_what_is_said(
        self, engine: Callable[[EngineConfig], Engine], adapter_config: EngineConfig
    ) -> None:
        assert answer_of(engine(adapter_config)) != answer_of(engine(BARE))

    def test_an_adapter_of_zeros_changes_nothing(
        self, engine: Callable[[EngineConfig], Engine], folder: Path
    ) -> None:
        nothing = write_adapter(folder / "zeros.gguf", scale=0.0)
        config = EngineConfig(n_ctx=256, n_slots=1, adapter=nothing)
        assert answer_of(engine(config)) == answer_of(engine(BARE))

    def test_the_bare_weights_say_the_same_beside_an_engine_with_an_adapter(
        self, engine: Callable[[EngineConfig], Engine], adapter_config: EngineConfig
    ) -> None:
        before = answer_of(engine(BARE))
        with_adapter, without = engine(adapter_config), engine(BARE)

        async def ask_both() -> list[str]:
            both = (with_adapter.generate(QUESTION), without.generate(QUESTION))
            return [answer.text for answer in await asyncio.gather(*both)]

        changed, bare = asyncio.run(ask_both())
        assert bare == before
        assert changed != before

    def test_engines_of_a_file_load_it_once(
        self,
        engine: Callable[[EngineConfig], Engine],
        adapter_config: EngineConfig,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        close_engines()
        loads = count_calls(monkeypatch, "llama_model_load_from_file")
        frees = count_calls(monkeypatch, "llama_model_free")
        engines = [engine(BARE), engine(adapter_config), engine(EngineConfig(n_ctx=128, n_slots=1))]
        for served in engines:
            answer_of(served)
        assert len(loads) == 1
        for served in engines[:2]:
            served.close()
        assert frees == [], "the last engine still computes with it"
        engines[2].close()
        assert len(frees) == 1

    @pytest.mark.parametrize("order", list(permutations(range(3))))
    def test_engines_may_be_closed_in_any_order(
        self,
        engine: Callable[[EngineConfig], Engine],
        adapter_config: EngineConfig,
        order: tuple[int, ...],
    ) -> None:
        engines = [engine(BARE), engine(adapter_config), engine(adapter_config)]
        answers = {n: answer_of(served) for n, served in enumerate(engines)}
        left = list(order)
        while left:
            engines[left.pop()].close()
            for n in left:
                assert answer_of(engines[n]) == answers[n]

    def test_an_adapter_made_for_another_file_is_refused(
        self, engine: Callable[[EngineConfig], Engine], folder: Path
    ) -> None:
        other = write_adapter(folder / "other.gguf", swarm__base__sha256="ab" * 32)
        with pytest.raises(ModelError, match=r"made for another model .* is abababababab…"):
            answer_of(engine(EngineConfig(n_ctx=256, n_slots=1, adapter=other)))

    def test_an_adapter_of_another_shape_is_refused_with_the_reason(
        self, engine: Callable[[EngineConfig], Engine], folder: Path
    ) -> None:
        wide = write_adapter(folder / "wide.gguf", width=512)
        with pytest.raises(ModelError, match="incorrect shape") as caught:
            answer_of(engine(EngineConfig(n_ctx=256, n_slots=1, adapter=wide)))
        assert str(wide) in caught.value.problem
        assert "plan without" in caught.value.fix


BOTH_AT_WORK = """
import asyncio, sys
from pathlib import Path
from prefect_swarm.models.llama import EngineConfig, GenerateRequest, demo_model_path, get_engine

async def main():
    adapters = (None, Path(sys.argv[1]))
    configs = [EngineConfig(n_ctx=64, n_slots=1, adapter=adapter) for adapter in adapters]
    engines = [get_engine(demo_model_path(), config) for config in configs]
    request = GenerateRequest(prompt="Bees", max_tokens=3)
    await asyncio.gather(*(engine.generate(request) for engine in engines))

asyncio.run(main())
"""


@pytest.mark.model
def test_a_process_ends_cleanly_with_engines_that_share_a_model(
    adapter_config: EngineConfig,
) -> None:
    command = [sys.executable, "-c", BOTH_AT_WORK, str(adapter_config.adapter)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


class TestChecks:
    def test_a_missing_adapter_is_refused(self, demo_path: Path, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"adapter .*/none\.gguf doesn't exist"):
            get_engine(demo_path, EngineConfig(adapter=tmp_path / "none.gguf"))

    def test_a_model_is_no_adapter(self, demo_path: Path) -> None:
        with pytest.raises(ModelError, match=r"not a LoRA adapter: its general\.type is 'model'"):
            get_engine(demo_path, EngineConfig(adapter=demo_path))

    def test_an_adapter_of_another_kind_is_refused(self, demo_path: Path, tmp_path: Path) -> None:
        path = write_adapter(tmp_path / "ia3.gguf", adapter__type="ia3")
        with pytest.raises(ModelError, match=r"adapter\.type 'ia3'"):
            get_engine(demo_path, EngineConfig(adapter=path))

    def test_a_link_to_an_adapter_is_the_same_engine(self, demo_path: Path, tmp_path: Path) -> None:
        path = write_adapter(tmp_path / "a.gguf")
        link = tmp_path / "link.gguf"
        link.symlink_to(path)
        direct, linked = EngineConfig(adapter=path), EngineConfig(adapter=link)
        assert get_engine(demo_path, direct) is get_engine(demo_path, linked)


class TestShipped:
    @pytest.fixture
    def base(self, tmp_path: Path) -> Path:
        path = tmp_path / "base.gguf"
        path.write_bytes(b"weights")
        return path

    @pytest.fixture
    def shipped(self, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = write_adapter(tmp_path / "shipped.gguf", swarm__base__sha256=file_hash(base))
        monkeypatch.setattr(adapter, "SHIPPED_ADAPTER", path)
        return path

    def test_a_files_hash_is_its_sha256_and_follows_its_content(self, base: Path) -> None:
        assert file_hash(base) == hashlib.sha256(b"weights").hexdigest()
        base.write_bytes(b"other weights")
        assert file_hash(base) == hashlib.sha256(b"other weights").hexdigest()

    def test_the_file_it_was_made_for_plans_with_it(self, base: Path, shipped: Path) -> None:
        assert planner_adapter(base) == shipped

    def test_another_file_plans_without_it(self, shipped: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.gguf"
        other.write_bytes(b"other weights")
        assert planner_adapter(other) is None

    def test_a_large_file_is_not_hashed(
        self, base: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(adapter, "LARGEST_BASE", 3)
        assert planner_adapter(base) is None

    def test_where_none_is_shipped_none_is_applied(
        self, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(adapter, "SHIPPED_ADAPTER", tmp_path / "none.gguf")
        assert planner_adapter(base) is None
