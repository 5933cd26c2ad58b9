"""Continuous batching: several requests share every call of llama.cpp.

A request joins as soon as a slot is free and leaves as soon as it is done; prompts and next tokens
travel in the same batch. A prompt that begins like one the cache still holds starts from there.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...errors import ContextTooSmallError, ModelError
from .api import EngineConfig, Generation
from .chat import ChatTemplate
from .native import BATCH_TOKENS, Entry, Native
from .sampling import Sampler
from .sequence import Job, TextBuffer

__all__ = ["Batcher"]

WORTH_WAITING = 64
"""Tokens of a common beginning for which a request waits until its neighbour has computed them."""


@dataclass
class _Run:
    """A request that holds a slot."""

    job: Job
    prompt: list[int]
    cached: int
    sampler: Sampler
    text: TextBuffer
    started: float
    written: int = 0
    todo: list[int] = field(default_factory=list[int])


@dataclass
class _Slot:
    """A sequence of the cache: the tokens it holds and, while it is busy, the run."""

    sequence: int
    tokens: list[int] = field(default_factory=list[int])
    run: _Run | None = None


class Batcher:
    """Decodes up to `n_slots` jobs together. It belongs to one thread; it has no thread itself."""

    def __init__(
        self, native: Native, config: EngineConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._native = native
        self._config = config
        self._clock = clock
        self._slots = [_Slot(n) for n in range(config.n_slots)]
        self._waiting: deque[tuple[Job, list[int]]] = deque()
        template = native.chat_template
        self._template = (
            ChatTemplate(template, bos=native.bos, eos=native.eos) if template else None
        )

    @property
    def busy(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._waiting) or any(slot.run for slot in self._slots)

    def add(self, job: Job) -> None:
        """Queue a job, or answer it at once with the error in it."""
        try:
            self._waiting.append((job, self._prompt_tokens(job)))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it is the caller's answer
            job.reply(error)

    def step(self) -> None:
        """Let in what fits, compute one batch, and answer what is done."""
        self._drop_cancelled()
        self._admit()
        entries, wants = self._next_batch()
        if not entries:
            return
        self._native.decode(entries)
        for slot, row in wants:
            self._take_token(slot, row)

    def fail(self, error: BaseException) -> None:
        """Answer everything that is under way or queued with an error, and forget all state."""
        jobs = [job for job, _ in self._waiting]
        self._waiting.clear()
        for slot in self._slots:
            if slot.run:
                jobs.append(slot.run.job)
                self._release(slot)
            slot.tokens.clear()
        self._native.forget_all()
        for job in jobs:
            job.reply(error)

    def _prompt_tokens(self, job: Job) -> list[int]:
        request = job.request
        text = request.prompt
        if text is None:
            if self._template is None:
                raise ModelError(
                    "The model file has no chat template.", "Use a model tuned for chat."
                )
            text = self._template.render(request.messages)
        tokens = self._native.tokenize(text)
        limit = self._native.n_ctx
        if not tokens or len(tokens) + request.max_tokens > limit:
            raise _context_error(len(tokens), request.max_tokens, limit)
        return tokens

    def _drop_cancelled(self) -> None:
        if any(job.cancelled for job, _ in self._waiting):
            self._waiting = deque(item for item in self._waiting if not item[0].cancelled)
        for slot in self._slots:
            if slot.run and slot.run.job.cancelled:
                self._release(slot)

    def _admit(self) -> None:
        # Strictly in order: a large request is not overtaken for ever by small ones.
        while self._waiting and any(slot.run is None for slot in self._slots):
            job, prompt = self._waiting[0]
            if not self._fits(job, prompt) or self._better_to_wait(prompt):
                return
            self._waiting.popleft()
            self._start(job, prompt)

    def _fits(self, job: Job, prompt: Sequence[int]) -> bool:
        # A shared beginning is counted for each: never too little, whoever leaves first.
        return self._reserved() + len(prompt) + job.request.max_tokens <= self._config.n_ctx

    def _reserved(self) -> int:
        return sum(
            len(run.prompt) + run.job.request.max_tokens
            for slot in self._slots
            if (run := slot.run)
        )

    def _better_to_wait(self, prompt: Sequence[int]) -> bool:
        held = max(_common(slot.tokens, prompt) for slot in self._slots)
        coming = max((_common(s.run.prompt, prompt) for s in self._slots if s.run), default=0)
        return self._native.can_rewind and coming - held >= WORTH_WAITING

    def _start(self, job: Job, prompt: list[int]) -> None:
        try:
            seed = self._config.seed if job.request.seed is None else job.request.seed
            sampler = Sampler(self._native, job.request, seed)
        except Exception as error:  # noqa: BLE001 - a bad grammar is the caller's answer
            job.reply(error)
            return
        slot, shared = self._claim(prompt)
        slot.run = _Run(
            job,
            prompt,
            shared,
            sampler,
            TextBuffer(job.request.stop),
            self._clock(),
            todo=prompt[shared:],
        )
        self._make_room()

    def _claim(self, prompt: Sequence[int]) -> tuple[_Slot, int]:
        """A free slot that holds as much of the prompt's beginning as any slot does."""
        source = max(self._slots, key=lambda slot: (_common(slot.tokens, prompt), slot.run is None))
        # The last token is computed in any case: its logits are what sampling starts from.
        shared = min(_common(source.tokens, prompt), len(prompt) - 1)
        if not self._native.can_rewind:
            shared = 0
        if source.run is None and shared:
            slot = source
            self._native.forget(slot.sequence, shared)
        else:
            slot = min(
                (slot for slot in self._slots if slot.run is None), key=lambda s: len(s.tokens)
            )
            self._native.forget(slot.sequence)
            if shared:
                self._native.share(source.sequence, slot.sequence, shared)
        slot.tokens = list(prompt[:shared])
        return slot, shared

    def _make_room(self) -> None:
        """Drop what idle slots still hold where the busy ones may need it."""
        room = self._config.n_ctx - self._reserved()
        for slot in self._slots:
            if slot.run is None and slot.tokens:
                room -= len(slot.tokens)
                if room < 0:
                    room += len(slot.tokens)
                    self._native.forget(slot.sequence)
                    slot.tokens.clear()

    def _next_batch(self) -> tuple[list[Entry], list[tuple[_Slot, int]]]:
        """Next tokens first, then as much of the prompts as there is room for."""
        entries: list[Entry] = []
        wants: list[tuple[_Slot, int]] = []
        busy = [(slot, slot.run) for slot in self._slots if slot.run]
        for slot, run in sorted(busy, key=lambda pair: (not pair[1].written, pair[1].started)):
            part = run.todo[: BATCH_TOKENS - len(entries)]
            del run.todo[: len(part)]
            for token in part:
                entries.append(Entry(token, len(slot.tokens), slot.sequence, False))
                slot.tokens.append(token)
            if part and not run.todo:
                entries[-1] = entries[-1]._replace(logits=True)
                wants.append((slot, len(entries) - 1))
        return entries, wants

    def _take_token(self, slot: _Slot, row: int) -> None:
        run = slot.run
        if run is None:
            return
        try:
            token = run.sampler.sample(row)
        except ModelError as error:
            self._release(slot)
            run.job.reply(error)
            return
        if self._native.ends(token):
            self._finish(slot, run, "stop")
            return
        run.written += 1
        if run.text.add(self._native.piece(token)):
            self._finish(slot, run, "stop")
        elif run.written >= run.job.request.max_tokens:
            self._finish(slot, run, "length")
        else:
            run.todo.append(token)

    def _finish(self, slot: _Slot, run: _Run, finish: Literal["stop", "length"]) -> None:
        self._release(slot)
        run.job.reply(
            Generation(
                text=run.text.text,
                input_tokens=len(run.prompt),
                cached_tokens=run.cached,
                output_tokens=run.written,
                finish=finish,
                queue_s=run.started - run.job.submitted,
                duration_s=self._clock() - run.started,
            )
        )

    def _release(self, slot: _Slot) -> None:
        if slot.run:
            slot.run.sampler.close()
        slot.run = None
        if not self._native.can_rewind:
            self._native.forget(slot.sequence)
            slot.tokens.clear()


def _common(held: Sequence[int], wanted: Sequence[int]) -> int:
    length = 0
    for one, other in zip(held, wanted, strict=False):
        if one != other:
            break
        length += 1
    return length


def _context_error(prompt: int, max_tokens: int, limit: int) -> ContextTooSmallError:
    return ContextTooSmallError(
        f"The prompt has {prompt:,} tokens and the answer may take {max_tokens:,} more, but the "
        f"context has {limit:,}.",
        f"Raise n_ctx to {prompt + max_tokens:,} or more if the model was trained for it, lower "
        "max_tokens, or shorten the prompt.",
    )
