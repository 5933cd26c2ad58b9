"""Choosing the next token: one sampler chain for each request, under a grammar if it has one."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...errors import EarlyAbortError, InputError
from ...text import encoded
from . import library as logs
from .api import GenerateRequest
from .library import lib
from .native import Logits, Native

__all__ = ["Sampler", "likeliest"]


_PENALTY_TOKENS = 128
_LIKELY_TOKENS = 256
"""Likeliest tokens that are tried under a grammar before the whole vocabulary is."""
_NEAR = 8.0
"""A token whose logit is less than the highest by more than this is less than 1/2,900 as likely."""
_MOST_GRAMMAR = 5_000_000
"""Characters. Those that are made of schemas have fewer; while one is read no answer goes on."""
_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Sampler:
    """Owns a llama.cpp sampler chain and, apart from it, a grammar."""

    def __init__(self, native: Native, request: GenerateRequest, seed: int) -> None:
        """Build both.

        Raises:
            InputError: The grammar can't be parsed.
        """
        self._native = native
        is_text = not request.grammar or request.leaves_text
        penalised = request.repeat_penalty != 1 and is_text
        self._plain_greedy = request.temperature == 0 and not penalised
        self._wanted = _tokens_wanted(request, penalised=penalised)
        with ExitStack() as closing:
            self._chain = self._text_chain = _make_chain(
                request, seed, native.n_vocab, penalised=penalised
            )
            closing.callback(lib.llama_sampler_free, self._chain)
            self._form_chain = self._chain
            self._end = int(lib.llama_vocab_eos(native.vocab))
            if penalised and request.grammar and self._end >= 0:
                self._form_chain = _make_chain(request, seed, native.n_vocab, penalised=False)
                closing.callback(lib.llama_sampler_free, self._form_chain)
            self._grammar = _make_grammar(native, request.grammar) if request.grammar else None
            if self._grammar is not None:
                closing.callback(lib.llama_sampler_free, self._grammar)
            self._closing = closing.pop_all()

    def sample(self, row: int) -> int:
        """The next token after the batch entry `row` of the last `decode`.

        Raises:
            EarlyAbortError: The grammar leaves no token of this model's vocabulary.
        """
        logits = self._native.logits(row)
        token = self._choose(logits)
        # Filtering the whole vocabulary is slow, and most samples obey the grammar anyway.
        if self._grammar is not None:
            if not self._allows(self._grammar, token):
                token = self._choose_under(self._grammar, logits)
            lib.llama_sampler_accept(self._grammar, token)
        if not self._plain_greedy:
            lib.llama_sampler_accept(self._text_chain, token)
        if self._grammar is not None and self._form_chain is not self._text_chain:
            lib.llama_sampler_accept(self._form_chain, token)
            # Free text may end anywhere; what may not is of a form that the grammar gives.
            may_end = self._allows(self._grammar, self._end)
            self._chain = self._text_chain if may_end else self._form_chain
        return token

    def close(self) -> None:
        """Free the memory."""
        self._closing.close()

    def _choose(self, logits: Logits) -> int:
        if self._plain_greedy:
            return int(logits.argmax())
        return self._apply_chain(_Candidates(likeliest(logits, self._wanted), logits))

    @staticmethod
    def _allows(grammar: lib.llama_sampler_p, token: int) -> bool:
        candidate = (lib.llama_token_data * 1)(lib.llama_token_data(token, 0.0, 0.0))
        array = lib.llama_token_data_array(candidate, 1, -1, False)
        _apply(grammar, array)
        return candidate[0].logit == 0.0

    def _choose_under(self, grammar: lib.llama_sampler_p, logits: Logits) -> int:
        # The whole vocabulary takes milliseconds, and what a grammar allows is rarely unlikely.
        for count in (_LIKELY_TOKENS, 0):
            candidates = _Candidates(likeliest(logits, count), logits)
            _apply(grammar, candidates.array)
            # llama.cpp ends the process when it is made to accept a token that a grammar forbids.
            if candidates.left:
                return self._apply_chain(candidates)
        raise EarlyAbortError(
            "The grammar leaves no token that this model knows.",
            "Let the grammar allow plain characters where it asks for unusual ones.",
        )

    def _apply_chain(self, candidates: _Candidates) -> int:
        _apply(self._chain, candidates.array)
        return candidates.selected


class _Candidates:
    """Tokens with their logits, as llama.cpp's samplers take them."""

    def __init__(self, ids: npt.NDArray[np.integer[Any]], logits: Logits) -> None:
        self._data = np.zeros(len(ids), dtype=_CANDIDATE)
        self._data["id"], self._data["logit"] = ids, logits[ids]
        pointer = self._data.ctypes.data_as(lib.llama_token_data_p)
        self.array = lib.llama_token_data_array(pointer, len(ids), -1, False)

    @property
    def left(self) -> bool:
        """Whether any may still be taken."""
        return bool(np.isfinite(self._data["logit"]).any())

    @property
    def selected(self) -> int:
        """The token that the last sampler of a chain took."""
        return self.array.data[self.array.selected].id


def likeliest(logits: Logits, count: int) -> npt.NDArray[np.integer[Any]]:
    """Return the tokens with the highest logits, in no order: so many, or all if it is 0."""
    if not 0 < count < len(logits):
        return np.arange(len(logits))
    near = np.flatnonzero(logits > logits.max() - _NEAR)
    # Few are near, mostly, and comparing takes a fifth of what sorting all takes.
    if len(near) < count:
        return np.argpartition(logits, -count)[-count:]
    return near[np.argpartition(logits[near], -count)[-count:]]


def _tokens_wanted(request: GenerateRequest, *, penalised: bool) -> int:
    """Return how many of the likeliest tokens a chain needs so that it chooses as from all; 0: all.

    A penalty only ever makes a token less likely, and no more than so many have one.
    """
    wanted = 1 if request.temperature == 0 else request.top_k
    return wanted and wanted + _PENALTY_TOKENS * penalised


def _apply(sampler: lib.llama_sampler_p, array: lib.llama_token_data_array) -> None:
    # The stubs ask for an array where C asks for a pointer.
    lib.llama_sampler_apply(sampler, cast("Any", ctypes.byref(array)))


def _make_chain(
    request: GenerateRequest, seed: int, n_vocab: int, *, penalised: bool
) -> lib.llama_sampler_p:
    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    if penalised:
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
    if len(grammar) > _MOST_GRAMMAR:
        raise InputError(
            f"The grammar has {len(grammar):,} characters; at most {_MOST_GRAMMAR:,} are taken.",
            "Use a smaller grammar, or smaller schemas.",
        )
    data = encoded(grammar, "grammar")
    logs.clear_errors()
    sampler, printed = logs.capture_stderr(
        lambda: lib.llama_sampler_init_grammar(native.vocab, data, b"root")
    )
    if sampler:
        return sampler
    reason = printed.partition("error parsing grammar: ")[2].partition("\n")[0]
    raise InputError(
        f"The grammar can't be used: {reason or logs.first_error()}.",
        "Write GBNF, the grammar format of llama.cpp, with a rule named root.",
    )
