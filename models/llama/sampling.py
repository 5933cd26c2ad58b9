"""Choosing the next token: one sampler chain for each request, under a grammar if it has one."""

from __future__ import annotations

import codecs
import ctypes
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ...errors import EarlyAbortError, InputError
from ...text import encoded
from . import library as logs
from .api import GeneratedText, GenerateRequest
from .library import lib
from .native import Logits, Native

__all__ = [
    "FRESH_TOKENS",
    "ActiveRequest",
    "Job",
    "Placement",
    "Sampler",
    "Slot",
    "TextBuffer",
    "admission_order",
    "common_prefix",
    "likeliest",
    "parts_to_read",
    "place",
    "should_wait",
]


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


@dataclass(eq=False)
class Job:
    """One request and where its answer goes. `reply` may be called from any thread, once.

    Attributes:
        submitted: When it was submitted, in seconds of the engine's clock.
        cancelled: Set when the caller no longer waits; the engine drops it at its next step.
    """

    request: GenerateRequest
    reply: Callable[[GeneratedText | BaseException], None]
    submitted: float
    cancelled: bool = False


class TextBuffer:
    """Bytes the model has written, and the stop strings that end them."""

    def __init__(self, stop: tuple[str, ...] = ()) -> None:
        """Begin without text.

        Raises:
            InputError: A stop string has half of a surrogate pair.
        """
        self._stops = [encoded(text, "stop string") for text in stop if text]
        self._longest = max(map(len, self._stops), default=0)
        self._bytes = bytearray()
        self._taken = 0
        self._decoder = _decoder()

    def add(self, piece: bytes) -> bool:
        """Append; return whether that completed a stop string, and cut the text before it."""
        start = max(0, len(self._bytes) - self._longest)
        self._bytes += piece
        hits = [at for stop in self._stops if (at := self._bytes.find(stop, start)) >= 0]
        if hits:
            del self._bytes[min(hits) :]
        return bool(hits)

    def take(self, *, ended: bool = False) -> str:
        """Return what can't change any more and was not taken before.

        Until the text has `ended`, its last bytes may be the beginning of a stop string.
        """
        held = 0 if ended else max(0, self._longest - 1)
        end = max(self._taken, len(self._bytes) - held)
        fresh, self._taken = bytes(self._bytes[self._taken : end]), end
        return self._decoder.decode(fresh)

    @property
    def text(self) -> str:
        """The text so far; a character that is not complete yet is left out."""
        return _decoder().decode(bytes(self._bytes))


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")


WORTH_COPYING = 32
"""Tokens of a common prefix from which copying another slot's cache, or waiting, pays off."""
FRESH_TOKENS = 2
"""Tokens at a prompt's end that are always computed: the last for its logits, and one next to it
because a single token takes another path through llama.cpp, with other rounding."""


@dataclass
class ActiveRequest:
    """A request that holds a slot.

    Attributes:
        cached: Tokens of the prompt that were in the cache when it started.
        started: When it got its slot, in seconds of the engine's clock.
        written: Tokens it has written so far.
        next: The token it wrote last, which is to be computed next.
    """

    job: Job
    prompt: list[int]
    cached: int
    sampler: Sampler
    text: TextBuffer
    started: float
    written: int = 0
    next: int | None = None


@dataclass
class Slot:
    """A sequence with a cache of its own.

    Attributes:
        tokens: The prompt's tokens in the cache. Generated tokens are never reused: computed singly
            they differ by rounding from the same tokens in a prompt.
        run: The request that holds it.
    """

    sequence: int
    tokens: list[int] = field(default_factory=list[int])
    run: ActiveRequest | None = None


class Placement(NamedTuple):
    """The slot to use, how many of its tokens to keep, and where to copy them from, if anywhere."""

    slot: Slot
    keep: int
    source: Slot | None


def place(slots: Sequence[Slot], prompt: Sequence[int], *, reuse: bool) -> Placement:
    """Choose a free slot, so that as little as possible is computed again.

    Args:
        slots: All of them; at least one is free.
        prompt: The tokens to come.
        reuse: Whether this model's cache can be cut back to a prompt's beginning.
    """
    reusable = prompt[:-FRESH_TOKENS] if reuse else prompt[:0]
    free = [slot for slot in slots if slot.run is None]
    own = max(free, key=lambda slot: (common_prefix(slot.tokens, reusable), -len(slot.tokens)))
    best = max(slots, key=lambda slot: common_prefix(slot.tokens, reusable))
    kept, copied = common_prefix(own.tokens, reusable), common_prefix(best.tokens, reusable)
    if copied - kept < WORTH_COPYING:
        return Placement(own, kept, None)
    return Placement(min(free, key=lambda slot: len(slot.tokens)), copied, best)


def should_wait(slots: Sequence[Slot], prompt: Sequence[int]) -> bool:
    """Whether a busy slot will soon hold much more of this prompt's beginning than any does now."""
    held = max(common_prefix(slot.tokens, prompt) for slot in slots)
    coming = max((common_prefix(slot.run.prompt, prompt) for slot in slots if slot.run), default=0)
    return coming - held >= WORTH_COPYING


def admission_order(request: GenerateRequest, submitted: float) -> tuple[float, float, float]:
    """Return the key by which waiting requests are sorted: the lowest starts first."""
    return -request.priority, math.inf if request.deadline is None else request.deadline, submitted


def parts_to_read(left: Sequence[int], room: int) -> list[int]:
    """Share a batch among prompts, in their order.

    No prompt is left with a lone last token: see `FRESH_TOKENS`.

    Args:
        left: How many tokens of each are still to be computed, at least 1.
        room: Tokens of the batch, at least 2.

    Returns:
        How many tokens of each to compute now.
    """
    parts: list[int] = []
    for tokens in left:
        part = min(tokens, room)
        part -= part > 0 and tokens - part == 1
        parts.append(part)
        room -= part
    return parts


def common_prefix(held: Sequence[int], wanted: Sequence[int]) -> int:
    """Return how many tokens two prompts have in common at their beginning."""
    low, high = 0, min(len(held), len(wanted))
    # Python compares whole lists much faster than it goes through their items.
    if held[:high] == wanted[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if held[low:middle] == wanted[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
