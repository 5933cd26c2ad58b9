"""Texts that llama.cpp's grammars allow, chosen by chance."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from llama_cpp import llama_cpp as lib
from prefect_swarm.models.llama import library as logs
from prefect_swarm.models.llama.gguf import demo_model_path

__all__ = ["allowed_text", "is_accepted"]

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
_ENDING = b'"}]'


class _Vocabulary:
    """The embedded model's tokens, without its weights."""

    def __init__(self, path: Path) -> None:
        parameters = lib.llama_model_default_params()
        parameters.vocab_only = True
        model = lib.llama_model_load_from_file(str(path).encode(), parameters)
        self.native = cast("Any", lib.llama_model_get_vocab(cast("Any", model)))
        self.count = lib.llama_vocab_n_tokens(self.native)
        self.end = int(lib.llama_vocab_eos(self.native))
        self.pieces = [self._piece(token) for token in range(self.count)]
        # A token that is a part of a character has no place in a random text.
        self.going_on = [
            token for token in range(self.count) if not lib.llama_vocab_is_eog(self.native, token)
        ]
        self.words = [token for token in self.going_on if _is_text(self.pieces[token])]
        self.letters = {
            self.pieces[token]: token for token in self.words if len(self.pieces[token]) == 1
        }

    def _piece(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(256)
        size = lib.llama_token_to_piece(self.native, token, buffer, 256, 0, True)
        return buffer.raw[: max(0, size)]


@cache
def _vocabulary() -> _Vocabulary:
    logs.install()
    return _Vocabulary(demo_model_path())


def is_accepted(grammar: str) -> bool:
    """Say whether llama.cpp can read a grammar."""
    with _sampler(grammar) as sampler:
        return bool(sampler)


def allowed_text(grammar: str, seed: int, most: int = 50) -> str | None:
    """Return a text that a grammar allows; None if it hasn't ended after twice `most` tokens."""
    vocabulary, chance = _vocabulary(), random.Random(seed)  # noqa: S311 - chance, not a secret
    letters = list(vocabulary.letters.values())
    closing = [vocabulary.letters[bytes([byte])] for byte in _ENDING]
    text = b""
    with _sampler(grammar) as sampler:
        for step in range(2 * most):
            tokens: list[int] = letters + chance.sample(vocabulary.words, 60)
            left = _left(sampler, [*tokens, vocabulary.end]) or _left(sampler, vocabulary.going_on)
            if vocabulary.end in left and (step > most or chance.random() < 0.5 or len(left) == 1):
                return text.decode()
            assert left, f"nothing may follow {text!r}"
            ends = [token for token in left if token in closing] if step > most else []
            token = chance.choice(ends or [each for each in left if each != vocabulary.end])
            lib.llama_sampler_accept(sampler, token)
            text += vocabulary.pieces[token]
    return None


@contextmanager
def _sampler(grammar: str) -> Generator[Any]:
    data, vocabulary = grammar.encode(), _vocabulary()
    sampler, _ = logs.capture_stderr(
        lambda: lib.llama_sampler_init_grammar(vocabulary.native, data, b"root")
    )
    try:
        yield sampler
    finally:
        if sampler:
            lib.llama_sampler_free(sampler)


def _left(sampler: Any, tokens: Sequence[int]) -> list[int]:
    data = np.zeros(len(tokens), dtype=_CANDIDATE)
    data["id"] = tokens
    pointer = data.ctypes.data_as(lib.llama_token_data_p)
    array = lib.llama_token_data_array(pointer, len(tokens), -1, False)
    lib.llama_sampler_apply(sampler, cast("Any", ctypes.byref(array)))
    return [int(token) for token in data["id"][np.isfinite(data["logit"])]]


def _is_text(piece: bytes) -> bool:
    try:
        return bool(piece.decode())
    except UnicodeDecodeError:
        return False
