"""Requests to the local engine, and its answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ...errors import InputError

__all__ = [
    "BATCH_TOKENS",
    "CacheType",
    "EngineConfig",
    "Finish",
    "GenerateRequest",
    "GeneratedText",
    "LocalTool",
    "LocalToolCall",
    "Message",
    "Role",
    "usable_cores",
]


BATCH_TOKENS = 128
"""Tokens computed in one call: it bounds how long a cancellation or another request waits."""

Role = Literal["system", "user", "assistant", "tool"]
Finish = Literal["stop", "length", "aborted"]
CacheType = Literal["f16", "q8_0", "q4_0"]
"""How a number of the KV cache is kept: 16 bits, about 8.5 bits or about 4.5 bits."""


def usable_cores() -> int:
    """Cores this process may run on; a container or `taskset` can allow fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class EngineConfig:
    """How one model file is served. Two configurations of a file are two engines.

    Attributes:
        n_ctx: Tokens of context for one request, prompt and answer together; never more than the
            model was trained for. Memory is reserved for `n_slots` times as many.
        n_threads: Threads that compute; None takes every core that this process may use.
        n_slots: The most requests decoded together.
        seed: The seed of requests without one.
        adapter: A GGUF file with a LoRA adapter that is applied to every answer. Engines of one
            file with different adapters, or none, share its weights.
        deterministic: Whether an answer is the same, to the last bit of its rounding, whatever is
            computed in parallel or was before. It takes a fifth to a third longer.
        n_gpu_layers: Layers that a GPU holds and computes; None is all of them where llama.cpp was
            built with GPU support, else 0.
        cache_type: How the KV cache is kept; None is f16. The others need less memory and use
            llama.cpp's flash attention.
        keep_loaded: Whether other engines are unloaded before this one where memory is short.
    """

    n_ctx: int = 4096
    n_threads: int | None = None
    n_slots: int = 4
    seed: int = 0
    adapter: Path | None = None
    deterministic: bool = False
    n_gpu_layers: int | None = None
    cache_type: CacheType | None = None
    keep_loaded: bool = False

    def __post_init__(self) -> None:
        _require_at_least("n_ctx", self.n_ctx, 1)
        _require_at_least("n_slots", self.n_slots, 1)
        if self.n_threads is not None:
            _require_at_least("n_threads", self.n_threads, 1)
        if self.n_gpu_layers is not None and self.n_gpu_layers < 0:
            raise InputError(
                f"n_gpu_layers is {self.n_gpu_layers}.",
                "Give 0 or more, or leave it out for all layers.",
            )
        if self.cache_type not in (None, *get_args(CacheType)):
            raise InputError(
                f"cache_type is {self.cache_type!r}.",
                f"Give one of {', '.join(get_args(CacheType))}, or leave it out for f16.",
            )
        if self.deterministic and self.cache_type not in (None, "f16"):
            raise InputError(
                f"cache_type is {self.cache_type!r}, and answers are to be deterministic.",
                "Leave the cache_type out, or deterministic: a quantised cache needs flash "
                "attention.",
            )


@dataclass(frozen=True)
class LocalTool:
    """A function that a model may call.

    Attributes:
        name: What the model calls it.
        description: What it does; may be empty.
        parameters: JSON Schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class LocalToolCall:
    """A call of a tool that a model wrote.

    Attributes:
        name: The tool.
        arguments: Its arguments as the model wrote them: JSON of an object, unless it is malformed.
        id: What its result refers to.
    """

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: Who speaks; `tool` gives what a call returned.
        content: What is said.
        calls: The tools that an assistant's turn calls.
        call_id: The call that a tool's turn answers.
        name: The tool that answers.
    """

    role: Role
    content: str
    calls: tuple[LocalToolCall, ...] = ()
    call_id: str = ""
    name: str = ""


@dataclass(frozen=True)
class GenerateRequest:
    """A text to continue: `messages` in the model's own chat format, or a raw `prompt`.

    Attributes:
        messages: The conversation so far, rendered with the chat template in the model file.
        prompt: Text to continue as it stands, instead of messages.
        max_tokens: The most tokens to write.
        may_shorten: Whether the answer may take fewer tokens than that, at least 1, where the
            context leaves no more; otherwise such a request is refused.
        temperature: 0 always takes the likeliest token.
        top_p: Sample among the likeliest tokens that together have this probability.
        top_k: Sample among this many likeliest tokens; 0 for all.
        repeat_penalty: Divides the logits of what was written in the last 128 tokens; 1 is none.
            Only free text is penalised: under a grammar repeating may be what is asked for.
        seed: Same request, same seed: same text. None takes the engine's seed.
        stop: The text ends before the first of these.
        tools: Functions that the prompt describes to the model; only with messages.
        grammar: GBNF that the text obeys; its start rule is `root`.
        leaves_text: Whether the grammar allows free text, which is then sampled like any, until the
            grammar leads it on to something that can't end where it is.
        begun: The beginning of the answer, to be written on; it is not part of what is returned.
        watch: Called with the text so far every few tokens; returns why to stop, or "" to go on.
            It runs in the engine's thread, so it must be quick and must not raise.
        priority: Of the requests that wait, the one with the highest starts first; a run gives the
            length of the path that remains from its step.
        deadline: When nobody waits any more, in seconds of `time.monotonic`. Of two with the same
            priority the one whose deadline is nearer starts first.
        on_text: Called with what was written since its last call, as soon as it can't change any
            more; all of it together is the answer's text. As quick as `watch`.
        on_start: Called when the first token of the prompt is about to be processed, with the
            prompt's tokens and how many of them are cached. As quick as `watch`.
    """

    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    max_tokens: int = 512
    may_shorten: bool = False
    temperature: float = 0.2
    top_p: float = 0.9
    top_k: int = 40
    repeat_penalty: float = 1.1
    seed: int | None = None
    stop: tuple[str, ...] = ()
    tools: tuple[LocalTool, ...] = ()
    grammar: str | None = None
    leaves_text: bool = False
    begun: str = ""
    watch: Callable[[str], str] | None = None
    priority: float = 0.0
    deadline: float | None = None
    on_text: Callable[[str], None] | None = None
    on_start: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        if bool(self.messages) == (self.prompt is not None):
            raise InputError("A request has to have messages or a prompt.", "Give one of the two.")
        _require_at_least("max_tokens", self.max_tokens, 1)
        _require_at_least("temperature", self.temperature, 0)
        _require_at_least("top_k", self.top_k, 0)
        _require_at_least("repeat_penalty", self.repeat_penalty, 1)
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p is {self.top_p}.", "Give more than 0 and at most 1.")


@dataclass(frozen=True)
class GeneratedText:
    """What the model wrote.

    Attributes:
        text: The answer, without the stop string that ended it.
        input_tokens: Tokens of the prompt, those found in the cache included.
        cached_tokens: Tokens of the prompt that were not computed again.
        output_tokens: Tokens the model wrote.
        finish: `stop` when the model, a stop string or the grammar ended it, `length` when it
            reached `max_tokens` or the end of the context, `aborted` when `watch` did.
        why: What `watch` returned.
        queue_s: Seconds from the call until its first token was being processed.
        duration_s: Seconds from then until the end.
    """

    text: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    finish: Finish
    queue_s: float
    duration_s: float
    why: str = ""


def _require_at_least(name: str, value: float, least: int) -> None:
    # `not >=` refuses NaN too.
    if not value >= least:
        raise InputError(f"{name} is {value}.", f"Give {least} or more.")
