"""A tiny model that torch and llama.cpp can both compute, and what llama.cpp makes of it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import gguf
import numpy as np
import pytest
from prefect_swarm.models.llama import library as logs
from prefect_swarm.models.llama.library import lib

LAYERS, WIDTH, HIDDEN, HEADS, KV_HEADS, VOCABULARY = 2, 64, 96, 4, 2, 300
_FLOAT32 = 0


def matrices() -> dict[str, tuple[int, ...]]:
    key = WIDTH // HEADS * KV_HEADS
    block = {
        "attn_norm": (WIDTH,),
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (key, WIDTH),
        "attn_v": (key, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (HIDDEN, WIDTH),
        "ffn_up": (HIDDEN, WIDTH),
        "ffn_down": (WIDTH, HIDDEN),
    }
    blocks = {f"blk.{n}.{name}": size for n in range(LAYERS) for name, size in block.items()}
    return {"token_embd": (VOCABULARY, WIDTH), "output_norm": (WIDTH,), **blocks}


def write_model(path: Path, architecture: str = "llama", scaling: str = "") -> Path:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("Tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(1000.0)
    if scaling:
        writer.add_string(f"{architecture}.rope.scaling.type", scaling)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("none")
    random = np.random.default_rng(1)
    for name, size in matrices().items():
        spread = random.standard_normal(size) / np.sqrt(size[-1])
        weight = spread if len(size) > 1 else 1 + 3 * spread
        writer.add_tensor(f"{name}.weight", (3 * weight).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model in 32 bits, without a tokenizer."""
    return write_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


def compute(base: Path, tokens: Sequence[int], adapter: Path | None = None) -> np.ndarray:
    """(tokens, vocabulary) logits that llama.cpp computes, with a cache of 32 bits."""
    logs.install()
    lib.llama_backend_init()
    with ExitStack() as closing:
        model = lib.llama_model_load_from_file(str(base).encode(), lib.llama_model_default_params())
        assert model
        closing.callback(lib.llama_model_free, model)
        params = lib.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = 256
        params.flash_attn_type = 0
        params.type_k = params.type_v = _FLOAT32
        context = lib.llama_init_from_model(model, params)
        assert context
        closing.callback(lib.llama_free, context)
        if adapter is not None:
            loaded = lib.llama_adapter_lora_init(model, str(adapter).encode())
            assert loaded
            adapters = (lib.llama_adapter_lora_p_ctypes * 1)(loaded)
            assert not lib.llama_set_adapters_lora(context, adapters, 1, (ctypes.c_float * 1)(1.0))
        batch = lib.llama_batch_init(len(tokens), 0, 1)
        closing.callback(lib.llama_batch_free, batch)
        batch.n_tokens = len(tokens)
        for n, token in enumerate(tokens):
            batch.token[n], batch.pos[n], batch.logits[n] = token, n, True
            batch.n_seq_id[n], batch.seq_id[n][0] = 1, 0
        assert not lib.llama_decode(context, batch)
        vocabulary = lib.llama_model_get_vocab(model)
        assert vocabulary
        words = lib.llama_vocab_n_tokens(vocabulary)
        rows = [
            np.ctypeslib.as_array(lib.llama_get_logits_ith(context, n), shape=(words,)).copy()
            for n in range(len(tokens))
        ]
    return np.stack(rows)


@pytest.fixture
def other_model(tmp_path: Path) -> Callable[..., Path]:
    """Write a tiny model of another `architecture` or with another rotary `scaling`."""

    def other_model(**changed: str) -> Path:
        return write_model(tmp_path / "other.gguf", **changed)

    return other_model


@pytest.fixture(scope="session")
def served_logits() -> Callable[..., np.ndarray]:
    """`compute`: what llama.cpp makes of tokens with a model and, if given, an adapter."""
    return compute
