"""Choosing the next token: one sampler chain for each request, under a grammar if it has one."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack
from typing import Any, cast

import numpy as np

from ...errors import EarlyAbortError, InputError
from . import logs
from .api import GenerateRequest
from .library import lib
from .native import Native

__all__ = ["Sampler"]

_PENALTY_TOKENS = 128
_LIKELY_TOKENS = 256
"""Likeliest tokens that are tried under a grammar before the whole vocabulary is."""
_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Sampler:
    """Owns a llama.cpp sampler chain and, apart from it, a grammar."""

    def __init__(self, native: Native, request: GenerateRequest, seed: int) -> None:
        """Build both.

        Raises:
            InputError: The grammar can't be parsed.
        """
        self._native = native
        with ExitStack() as closing:
            self._chain = _make_chain(request, seed, native.n_vocab)
            closing.callback(lib.llama_sampler_free, self._chain)
            self._grammar = _make_grammar(native, request.grammar) if request.grammar else None
            if self._grammar is not None:
                closing.callback(lib.llama_sampler_free, self._grammar)
            self._closing = closing.pop_all()

    def sample(self, row: int) -> int:
        """The next token after the batch entry `row` of the last `decode`.

        Raises:
            EarlyAbortError: The grammar leaves no token of this model's vocabulary.
        """
        token = lib.llama_sampler_sample(self._chain, self._native.context, row)
        if self._grammar is None:
            return token
        # Filtering the whole vocabulary is slow, and most samples obey the grammar anyway.
        if not self._allows(self._grammar, token):
            token = self._sample_under(self._grammar, row)
        lib.llama_sampler_accept(self._grammar, token)
        return token

    def close(self) -> None:
        """Free the memory."""
        self._closing.close()

    @staticmethod
    def _allows(grammar: lib.llama_sampler_p, token: int) -> bool:
        candidate = (lib.llama_token_data * 1)(lib.llama_token_data(token, 0.0, 0.0))
        array = lib.llama_token_data_array(candidate, 1, -1, False)
        _apply(grammar, array)
        return candidate[0].logit == 0.0

    def _sample_under(self, grammar: lib.llama_sampler_p, row: int) -> int:
        size = self._native.n_vocab
        pointer = lib.llama_get_logits_ith(self._native.context, row)
        logits = np.ctypeslib.as_array(pointer, shape=(size,))
        # The whole vocabulary takes milliseconds, and what a grammar allows is rarely unlikely.
        few = min(_LIKELY_TOKENS, size)
        likely = np.argpartition(logits, -few)[-few:]
        for ids in (likely, np.arange(size)):
            candidates = np.zeros(len(ids), dtype=_CANDIDATE)
            candidates["id"], candidates["logit"] = ids, logits[ids]
            array = lib.llama_token_data_array(
                candidates.ctypes.data_as(lib.llama_token_data_p), len(ids), -1, False
            )
            _apply(grammar, array)
            # llama.cpp ends the process when it is made to accept a token that a grammar forbids.
            if np.isfinite(candidates["logit"]).any():
                _apply(self._chain, array)
                return array.data[array.selected].id
        raise EarlyAbortError(
            "The grammar leaves no token that this model knows.",
            "Let the grammar allow plain characters where it asks for unusual ones.",
        )


def _apply(sampler: lib.llama_sampler_p, array: lib.llama_token_data_array) -> None:
    # The stubs ask for an array where C asks for a pointer.
    lib.llama_sampler_apply(sampler, cast("Any", ctypes.byref(array)))


def _make_chain(request: GenerateRequest, seed: int, n_vocab: int) -> lib.llama_sampler_p:
    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    if request.repeat_penalty != 1 and not request.grammar:
        penalties = lib.llama_sampler_init_penalties(
            n_vocab, _PENALTY_TOKENS, request.repeat_penalty, 0.0, 0.0
        )
        lib.llama_sampler_chain_add(chain, penalties)
    if request.temperature == 0:
        lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_greedy())
        return chain
    if request.top_k:
        lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_top_k(request.top_k))
    lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_top_p(request.top_p, 1))
    lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_temp(request.temperature))
    # llama.cpp takes the one seed that this leaves out for "any".
    lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_dist(seed % 0xFFFFFFFF))
    return chain


def _make_grammar(native: Native, grammar: str) -> lib.llama_sampler_p:
    logs.clear_errors()
    sampler, printed = logs.capture_stderr(
        lambda: lib.llama_sampler_init_grammar(native.vocab, grammar.encode(), b"root")
    )
    if sampler:
        return sampler
    reason = printed.partition("error parsing grammar: ")[2].partition("\n")[0]
    raise InputError(
        f"The grammar can't be used: {reason or logs.first_error()}.",
        "Write GBNF, the grammar format of llama.cpp, with a rule named root.",
    )
