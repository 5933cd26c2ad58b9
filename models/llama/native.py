"""One context over a loaded model, and the sampler chains that choose its next tokens.

With `library` it is all that calls llama.cpp. Import it late: it loads the shared library. Use a
context only in the thread that made it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ...errors import EarlyAbortError, InputError, ModelError, ModelFailedError
from ...text import encoded
from . import library as logs
from .api import BATCH_TOKENS, CacheType, EngineConfig, GenerateRequest, usable_cores
from .gguf import ANOTHER, check_base
from .library import lib, lora_adapter, shared_model
from .residency import MemoryUse

__all__ = ["BatchToken", "Logits", "Native", "Sampler", "likeliest"]

Logits = npt.NDArray[np.float32]

_CALL_MARKS = ("<tool_call>", "[TOOL_CALLS]")
"""Texts that begin calls of tools; some vocabularies have special tokens for them."""
_CONTROL_ATTRIBUTES = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
_FLASH_WHERE_POSSIBLE, _PLAIN, _FLASH = -1, 0, 1
_QUANTISED: dict[CacheType | None, int] = {
    "q8_0": lib.GGML_TYPE_Q8_0,
    "q4_0": lib.GGML_TYPE_Q4_0,
}


class BatchToken(NamedTuple):
    """One token of a batch: its place in its sequence, and whether its logits are wanted."""

    token: int
    position: int
    sequence: int
    logits: bool


class Native:
    """Owns a llama.cpp context with `n_slots` sequences, each with its own cache."""

    def __init__(self, path: Path, config: EngineConfig) -> None:
        """Load the weights, unless another context has, and reserve the context.

        Raises:
            ModelError: The file can't be loaded or can't generate text, its adapter doesn't fit it,
                or memory is short.
        """
        logs.install()
        lib.llama_backend_init()
        logs.clear_errors()
        self._path = path
        self._config = config
        with ExitStack() as closing, logs.reserving() as so_far:
            if config.adapter is not None:
                check_base(config.adapter, path)
            shared = closing.enter_context(shared_model(path, config.n_gpu_layers))
            self._model = shared.model
            adapter = self._load_adapter(closing)
            self.context = self._make_context()
            closing.callback(lib.llama_free, self.context)
            if adapter is not None:
                self._apply_adapter(adapter)
            self._memory = self._find_memory()
            self._batch = lib.llama_batch_init(BATCH_TOKENS, 0, 1)
            closing.callback(lib.llama_batch_free, self._batch)
            self.memory_use = MemoryUse(shared.size, so_far().own)
            self._closing = closing.pop_all()
        self.vocab = cast("lib.llama_vocab_p", lib.llama_model_get_vocab(self._model))
        self.n_vocab = lib.llama_vocab_n_tokens(self.vocab)
        # A recurrent state can't be cut back to an earlier token.
        self.can_rewind = not (
            lib.llama_model_is_recurrent(self._model) or lib.llama_model_is_hybrid(self._model)
        )

    @property
    def n_ctx(self) -> int:
        """Tokens that one sequence may have."""
        return min(self._config.n_ctx, lib.llama_model_n_ctx_train(self._model))

    @property
    def chat_template(self) -> str | None:
        """The chat template the file carries."""
        template = lib.llama_model_chat_template(self._model, None)
        return template.decode() if template else None

    @property
    def bos(self) -> str:
        """The beginning-of-sequence token's text."""
        return self._special_text(lib.llama_vocab_bos(self.vocab))

    @property
    def eos(self) -> str:
        """The end-of-sequence token's text."""
        return self._special_text(lib.llama_vocab_eos(self.vocab))

    @cached_property
    def special(self) -> frozenset[str]:
        """The texts of the tokens that mean something, such as that a turn begins."""
        attribute, mask = cast("Any", lib).llama_vocab_get_attr, _CONTROL_ATTRIBUTES
        tokens = (n for n in range(self.n_vocab) if attribute(self.vocab, n) & mask)
        return frozenset(text for token in tokens if (text := self._special_text(token)))

    def tokenize(self, text: str, *rest: str) -> list[int]:
        """Turn a prompt, in one piece or several, into tokens.

        Special tokens in a piece count as such; what two pieces have together is none.

        Raises:
            InputError: It has half of a surrogate pair.
        """
        bos = self.bos
        tokens = self._tokens(text, begins=not (bos and text.startswith(bos)))
        for piece in rest:
            tokens += self._tokens(piece, begins=False)
        return tokens

    def _tokens(self, text: str, *, begins: bool) -> list[int]:
        data = encoded(text, "prompt")
        size = len(data) + 8
        tokens = (lib.llama_token * size)()
        count = lib.llama_tokenize(self.vocab, data, len(data), tokens, size, begins, True)
        return list(tokens[:count])

    @cached_property
    def _marks(self) -> frozenset[int]:
        """Special tokens that begin calls of tools, in a vocabulary that has such."""
        tokens = (lib.llama_token * 16)()
        found: set[int] = set()
        for mark in map(str.encode, _CALL_MARKS):
            if lib.llama_tokenize(self.vocab, mark, len(mark), tokens, 16, False, True) == 1:
                found.add(tokens[0])
        return frozenset(found)

    def piece(self, token: int) -> bytes:
        """The bytes that a token represents; empty for a special token that begins no call."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = lib.llama_token_to_piece(
                self.vocab, token, buffer, size, 0, token in self._marks
            )
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def is_end_token(self, token: int) -> bool:
        """Whether the token ends a generation."""
        return lib.llama_vocab_is_eog(self.vocab, token)

    def decode(self, entries: Sequence[BatchToken]) -> None:
        """Compute a batch of at most `BATCH_TOKENS` tokens.

        Raises:
            ModelError: llama.cpp refused; the sequences' state is unknown then.
        """
        batch = self._batch
        batch.n_tokens = len(entries)
        token, position, logits = batch.token, batch.pos, batch.logits
        sequence, counts = batch.seq_id, batch.n_seq_id
        for n, entry in enumerate(entries):
            token[n] = entry.token
            position[n] = entry.position
            sequence[n][0] = entry.sequence
            counts[n] = 1
            logits[n] = entry.logits
        if code := lib.llama_decode(self.context, batch):
            raise ModelFailedError(
                f"llama.cpp failed (code {code}) while computing with {self._path}.",
                "Try again; with less n_ctx if memory is short.",
            )

    def logits(self, row: int) -> Logits:
        """The logits after the batch entry `row` of the last `decode`, a view until the next."""
        pointer = lib.llama_get_logits_ith(self.context, row)
        return np.ctypeslib.as_array(pointer, shape=(self.n_vocab,))

    def held(self, sequence: int) -> int:
        """Return how many tokens a sequence holds; of a recurrent model, up to which position."""
        return lib.llama_memory_seq_pos_max(self._memory, sequence) + 1

    def forget(self, sequence: int, start: int = 0) -> None:
        """Drop a sequence's tokens from `start` on."""
        lib.llama_memory_seq_rm(self._memory, sequence, start, -1)

    def copy(self, source: int, target: int, length: int) -> None:
        """Let the sequence `target` hold the first `length` tokens of `source` and nothing else."""
        self.forget(target)
        # Between caches only the whole of one can be copied.
        lib.llama_memory_seq_cp(self._memory, source, target, -1, -1)
        self.forget(target, length)

    def save(self, sequence: int) -> bytes:
        """Return what has been computed for a sequence."""
        calls = cast("Any", lib)  # The stubs ask for C's integers.
        size: int = calls.llama_state_seq_get_size(self.context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        count: int = calls.llama_state_seq_get_data(self.context, buffer, size, sequence)
        return bytes(buffer)[:count]

    def restore(self, sequence: int, data: bytes) -> bool:
        """Let an empty sequence hold what was saved; False if llama.cpp refuses it."""
        buffer = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        calls = cast("Any", lib)
        return bool(calls.llama_state_seq_set_data(self.context, buffer, len(data), sequence))

    def forget_all(self) -> None:
        """Empty the cache."""
        lib.llama_memory_clear(self._memory, True)

    def close(self) -> None:
        """Free the memory."""
        self._closing.close()

    def _special_text(self, token: lib.llama_token | int) -> str:
        # The stubs say c_int32; ctypes hands out an int. A model without that token says -1.
        known = cast("int", token) >= 0
        text = lib.llama_vocab_get_text(self.vocab, token) if known else b""
        return text.decode(errors="replace")

    def _load_adapter(self, closing: ExitStack) -> lib.llama_adapter_lora_p | None:
        path = self._config.adapter
        if path is None:
            return None
        return closing.enter_context(lora_adapter(self._model, path))

    def _apply_adapter(self, adapter: lib.llama_adapter_lora_p) -> None:
        adapters = (lib.llama_adapter_lora_p_ctypes * 1)(adapter)
        full = (ctypes.c_float * 1)(1.0)
        if code := cast("Any", lib).llama_set_adapters_lora(self.context, adapters, 1, full):
            raise ModelError(
                f"llama.cpp can't use the adapter {self._config.adapter} (code {code}).",
                ANOTHER,
            )

    def _make_context(self) -> lib.llama_context_p:
        config = self._config
        params = lib.llama_context_default_params()
        params.n_ctx = self.n_ctx * config.n_slots
        params.n_batch = params.n_ubatch = BATCH_TOKENS
        params.n_seq_max = config.n_slots
        params.n_threads = params.n_threads_batch = config.n_threads or usable_cores()
        # With a cache of its own for each sequence and plain attention, an answer doesn't depend on
        # what else is being computed. Flash attention takes up to a third less time, and goes
        # through the cache in other parts where a sequence is alone.
        params.kv_unified = False
        params.flash_attn_type = _PLAIN if config.deterministic else _FLASH_WHERE_POSSIBLE
        if config.cache_type in _QUANTISED:
            # llama.cpp reads quantised values with flash attention alone.
            params.type_k = params.type_v = _QUANTISED[config.cache_type]
            params.flash_attn_type = _FLASH
        context = lib.llama_init_from_model(self._model, params)
        if not context:
            raise ModelError(
                f"llama.cpp can't make {config.n_slots} times {self.n_ctx} tokens of context, kept "
                f"as {config.cache_type or 'f16'}, over {self._path}: {logs.first_error()}.",
                "If memory is short, give a smaller n_ctx or fewer n_slots; if the file's heads "
                "don't fit a quantised cache, the cache_type f16."
                if config.cache_type in _QUANTISED
                else "Give a smaller n_ctx, fewer n_slots or a smaller model.",
            )
        return context

    def _find_memory(self) -> lib.llama_memory_t:
        memory = lib.llama_get_memory(self.context)
        if lib.llama_model_has_encoder(self._model) or not memory:
            raise ModelError(
                f"The model {self._path} can't continue a text: it is an embedding or encoder "
                "model.",
                "Use a decoder model, preferably tuned for chat.",
            )
        return memory


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
            if candidates.remaining:
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
    def remaining(self) -> bool:
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
