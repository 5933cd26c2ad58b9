"""Embedders give rows of length 1 that are nearer for texts that are nearer."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prefect_swarm.errors import InputError, MemoryStoreError
from prefect_swarm.memory.embedding import (
    LlamaCppEmbedder,
    RemoteEmbedder,
    WordLlama,
    make_embedder,
    unit_rows,
)
from prefect_swarm.memory.protocols import Embedder
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult, TestEmbeddingModel

SIMILAR = ("Write a poem about the sea", "Write a short poem on the ocean")
OTHERS = ("Compute the sum of all invoices", "Translate the menu into Greek")


def remote_embedder() -> RemoteEmbedder:
    return RemoteEmbedder(TestEmbeddingModel(dimensions=12))


@pytest.fixture(params=["wordllama", "remote"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return make_embedder() if request.param == "wordllama" else remote_embedder()


def test_rows_have_length_1_and_empty_texts_are_zeros(embedder: Embedder) -> None:
    rows = embedder.embed(["one text", "", "another", "  \n"])
    assert rows.dtype == np.float32
    assert rows.shape == (4, embedder.dimension)
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0, 1, 0], abs=1e-6)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_the_name_says_what_may_be_compared(embedder: Embedder) -> None:
    assert embedder.name.endswith(f"/{embedder.dimension}")


def embeds_similar_texts_nearer(embedder: Embedder) -> bool:
    first, second, *others = embedder.embed([*SIMILAR, *OTHERS])
    return all(first @ second > first @ other for other in others)


def test_similar_texts_are_nearer_than_others() -> None:
    assert embeds_similar_texts_nearer(make_embedder())


@settings(max_examples=25)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=8))
def test_a_vector_does_not_depend_on_its_neighbours(texts: list[str]) -> None:
    whole = make_embedder().embed(texts)
    alone = [make_embedder().embed([text])[0] for text in texts]
    assert np.array_equal(whole, np.stack(alone))


def test_a_process_has_one_of_each() -> None:
    assert make_embedder("wordllama") is make_embedder("wordllama")


def test_the_logging_of_the_process_stays_as_it_is() -> None:
    before = (logging.root.level, list(logging.root.handlers))
    WordLlama().embed(["text"])
    assert (logging.root.level, list(logging.root.handlers)) == before


def test_naming_one_imports_nothing_heavy() -> None:
    code = (
        "import sys; from prefect_swarm.memory.embedding import make_embedder as make;"
        "make('wordllama'), make('llamacpp:x.gguf'), make('openai:small');"
        "print(set(sys.modules) & {'llama_cpp', 'pydantic_ai', 'tokenizers', 'wordllama'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("name", ["", "word", "llamacpp:", "wordllama:x", ":x"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="There is no embedder"):
        make_embedder(name)


def test_a_model_file_that_is_not_there_is_said() -> None:
    with pytest.raises(MemoryStoreError, match="doesn't exist"):
        make_embedder("llamacpp:/nowhere/m.gguf").embed(["text"])


def test_a_file_that_is_no_model_is_said(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF, but no more")
    with pytest.raises(MemoryStoreError, match="can't be loaded"):
        LlamaCppEmbedder(path).embed(["text"])


def test_a_provider_that_is_unknown_is_said() -> None:
    with pytest.raises(InputError, match="can't be loaded"):
        make_embedder("nobody:nothing").embed(["text"])


class _Broken(TestEmbeddingModel):
    async def embed(self, *args: Any, **kwargs: Any) -> EmbeddingResult:
        raise RuntimeError("the line is dead")


def test_a_provider_that_fails_is_said() -> None:
    model: EmbeddingModel = _Broken()
    with pytest.raises(MemoryStoreError, match="the line is dead"):
        RemoteEmbedder(model).embed(["text"])


def test_a_remote_one_works_inside_a_running_loop() -> None:
    import asyncio

    async def embed() -> tuple[int, ...]:
        return remote_embedder().embed(["text"]).shape

    assert asyncio.run(embed()) == (1, 12)


def test_rows_that_are_no_numbers_become_zeros() -> None:
    assert unit_rows([[np.nan, 0.0], [3.0, 4.0]], 2).tolist() == [
        [0.0, 0.0],
        pytest.approx([0.6, 0.8]),
    ]


@pytest.mark.slow
@pytest.mark.model
def test_a_model_file_embeds_similar_texts_nearer() -> None:
    from prefect_swarm.models.llama.gguf import demo_model_path

    embedder = LlamaCppEmbedder(demo_model_path())
    assert embeds_similar_texts_nearer(embedder)
    rows = embedder.embed(["", "text " * 600, "with\0nul"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx([0, 1, 1], abs=1e-5)
    assert embedder.name.endswith(f"/{rows.shape[1]}")
    embedder.close()
