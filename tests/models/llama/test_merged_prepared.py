"""The planner's adapter is added to the embedded model's weights once, and plans stay plans."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from prefect_swarm.errors import ModelError, StorageError
from prefect_swarm.models.llama import merged as prepared
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.models.llama.gguf import SHIPPED_ADAPTER, file_hash, read_strings, read_tensors
from prefect_swarm.models.llama.merged import find_merged, make_merged, merge, merged_of
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.models.llama.native import BatchToken, Logits, Native
from prefect_swarm.models.llama.prepared import make_requantised, requantisation_for
from prefect_swarm.models.llama.quantiser import processor
from prefect_swarm.tasks.planner.adapter_planner import AdapterPlanner
from prefect_swarm.tasks.planner.conversation import PlanContext

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        not processor().startswith("x86"), reason="Q4_1 is left as it is on this processor"
    ),
]

_SETTING = "PREFECT_INTEGRATIONS_SWARM_REQUANTISE"
ADAPTER = SHIPPED_ADAPTER.resolve()
CONFIG = EngineConfig(n_ctx=512, n_slots=1, deterministic=True, adapter=ADAPTER)
PROMPT = "<|im_start|>user\nCompare tea and coffee, and then recommend one.<|im_end|>\n"


@pytest.fixture(scope="module")
def source(demo_path: Path) -> Path:
    return demo_path.resolve()


@pytest.fixture(scope="module")
def weights(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The requantised form, made once for all tests of this module."""
    change = requantisation_for(source)
    assert change is not None
    path = tmp_path_factory.mktemp("requantised") / "model.gguf"
    make_requantised(source, path, change)
    return path


@pytest.fixture(scope="module")
def whole(source: Path, weights: Path) -> Path:
    """The merged file, made once for all tests of this module."""
    path = weights.with_name("merged.gguf")
    make_merged(weights, source, ADAPTER, path)
    return path


@pytest.fixture
def place(
    source: Path, weights: Path, swarm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Where the merged file belongs; the requantised form is in its place already."""
    close_engines()  # or the files may be loaded already
    monkeypatch.setenv(_SETTING, "auto")
    folder = swarm_home / "weights"
    folder.mkdir(parents=True)
    (folder / f"{file_hash(source)}-q8_0.gguf").hardlink_to(weights)
    yield folder / f"{file_hash(source)}-q8_0-{file_hash(ADAPTER)}.gguf"
    close_engines()
    shutil.rmtree(swarm_home, ignore_errors=True)  # 145 MB a file


@pytest.fixture
def made(place: Path, whole: Path) -> Path:
    """The merged file in its place."""
    place.hardlink_to(whole)
    return place


@pytest.fixture
def at_once(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making it takes no time: it is the file that was made already."""

    def link(weights: Path, source: Path, adapter: Path, path: Path) -> None:
        assert weights != source
        assert adapter == ADAPTER
        path.unlink(missing_ok=True)
        path.hardlink_to(whole)

    monkeypatch.setattr(prepared, "make_merged", link)


def logits_of(native: Native) -> Logits:
    tokens = native.tokenize(PROMPT)
    last = len(tokens) - 1
    native.decode([BatchToken(token, n, 0, n == last) for n, token in enumerate(tokens)])
    return native.logits(last).copy()


def test_the_first_use_makes_it_and_says_so(place: Path, source: Path) -> None:
    lines: list[str] = []
    assert merged_of(source, ADAPTER, lines.append) == place
    assert lines == ["Adding the planner's adapter to the model's weights: once, a few seconds."]
    assert merged_of(source, ADAPTER, lines.append) == place
    assert len(lines) == 1


def test_its_header_and_size_are_those_of_the_requantised_form(weights: Path, whole: Path) -> None:
    noun = "model file"
    assert whole.stat().st_size == weights.stat().st_size
    assert read_tensors(whole, noun) == read_tensors(weights, noun)
    assert read_strings(whole, noun) == read_strings(weights, noun)


def test_another_adapter_and_off_are_not_merged(
    place: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.gguf"
    shutil.copyfile(ADAPTER, other)
    assert merged_of(source, other) is None
    monkeypatch.setenv(_SETTING, "off")
    assert merged_of(source, ADAPTER) is None
    assert not place.exists()


@pytest.mark.usefixtures("at_once")
def test_that_of_a_former_adapter_is_removed(place: Path, source: Path, weights: Path) -> None:
    former = place.with_name(f"{file_hash(source)}-q8_0-{'0' * 64}.gguf")
    former.hardlink_to(weights)
    merged_of(source, ADAPTER)
    assert not former.exists()
    assert place.exists()


@pytest.mark.usefixtures("at_once")
def test_a_file_that_is_cut_is_made_again(place: Path, source: Path, weights: Path) -> None:
    place.write_bytes(weights.read_bytes()[:-100])
    found = find_merged(source, ADAPTER)
    assert found is not None
    assert not found.made
    assert merged_of(source, ADAPTER) == place
    assert place.stat().st_size == weights.stat().st_size


def test_where_it_can_not_be_made_the_adapter_is_applied_and_a_line_says_why(
    place: Path, source: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(path: Path, *_: object) -> None:
        raise StorageError(f"The disk has no room for {path}.", "Free some.")

    monkeypatch.setattr(prepared, "make_merged", full)
    with caplog.at_level(logging.WARNING, logger="prefect_swarm.weights"):
        native = Native(source, CONFIG)
    native.close()
    assert not native.merged
    assert "applied at each token, which is slower" in caplog.text


def test_what_an_adapter_can_not_be_added_to_is_an_error(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't be added"):
        merge(source, source, ADAPTER, tmp_path / "merged.gguf")  # its matrices are Q4_1
    assert not any(tmp_path.iterdir())


class TestServing:
    def test_logits_are_near_those_of_the_adapter(
        self, made: Path, source: Path, tmp_path: Path
    ) -> None:
        other = tmp_path / "other.gguf"
        shutil.copyfile(ADAPTER, other)
        bare = EngineConfig(n_ctx=512, n_slots=1, deterministic=True)
        applied = EngineConfig(n_ctx=512, n_slots=1, deterministic=True, adapter=other)
        found: list[Logits] = []
        for config in (CONFIG, applied, bare):
            native = Native(source, config)
            assert native.merged is (config is CONFIG)
            found.append(logits_of(native))
            native.close()
        merged, adapted, without = found
        assert merged.argmax() == adapted.argmax()
        near, far = np.abs(merged - adapted).mean(), np.abs(without - adapted).mean()
        assert near < 0.1 * far

    def test_it_plans(self, made: Path, source: Path) -> None:
        planner = AdapterPlanner(LlamaCppModel(source), ADAPTER)
        objective = "Compare tea, coffee and water for a long night, and then recommend one"
        draft = asyncio.run(planner.plan(objective, PlanContext()))
        assert len(draft.plan.steps) > 2
        assert draft.adapter == ADAPTER

    def test_what_llama_cpp_refuses_is_removed_and_the_adapter_is_applied(
        self, made: Path, source: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from prefect_swarm.models.llama import weights

        open_file = weights._open

        def refuse(path: Path, n_gpu_layers: int) -> object:
            return None if path == made else open_file(path, n_gpu_layers)

        monkeypatch.setattr(weights, "_open", refuse)
        native = Native(source, CONFIG)
        native.close()
        assert not native.merged
        assert not made.exists()
