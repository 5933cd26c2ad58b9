"""Continuous batching: several requests share every call of llama.cpp.

A request joins as soon as a slot is free and leaves as soon as it is done. A prompt that begins
like one that a slot still holds starts from there. Where the engine is deterministic neither
changes any answer: next tokens are computed together, one a sequence, and prompts one sequence at a
time, so that rounding is the same as if each were alone. Elsewhere short prompts are computed
together, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

from ...errors import (
    ContextTooSmallError,
    EarlyAbortError,
    InputError,
    ModelError,
    StepTimeoutError,
)
from .api import BATCH_TOKENS, EngineConfig, Finish, GeneratedText
from .chat import SEAM, ChatTemplate
from .native import BatchToken, Native, Sampler
from .prefixes import PrefixFolder, PrefixStates
from .slots import (
    FRESH_TOKENS,
    ActiveRequest,
    Job,
    Slot,
    TextBuffer,
    admission_order,
    parts_to_read,
    place,
    should_wait,
)

__all__ = ["WATCHED_TOKENS", "Batcher"]


_MOST_OF_TOKEN = 128
"""Characters that no token has more of. A longer text fits into no context, and to count its tokens
would take long, in which no other answer goes on."""

WATCHED_TOKENS = 16
"""Tokens between two calls of a request's `watch`."""


class Batcher:
    """Decodes up to `n_slots` jobs together. It belongs to one thread; it has no thread itself."""

    def __init__(
        self,
        native: Native,
        config: EngineConfig,
        clock: Callable[[], float] = time.monotonic,
        stored: PrefixFolder | None = None,
    ) -> None:
        self._native = native
        self._seed = config.seed
        self._together = not config.deterministic
        self._clock = clock
        self._slots = [Slot(n) for n in range(config.n_slots)]
        self._waiting: list[tuple[Job, list[int]]] = []
        self._states = PrefixStates(native, stored)
        template = native.chat_template
        self._template = (
            ChatTemplate(template, bos=native.bos, eos=native.eos, special=native.special)
            if template
            else None
        )

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._waiting) or any(slot.run for slot in self._slots)

    def add(self, job: Job) -> None:
        """Queue a job, or answer it immediately with the error in it."""
        try:
            self._waiting.append((job, self._prompt_tokens(job)))
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the caller gets it
            job.reply(error)

    def step(self) -> None:
        """Start what fits, compute a token of each answer and a part of the prompts."""
        self._drop_unwanted()
        self._admit()
        self._write()
        self._read()

    def fail(self, error: BaseException) -> None:
        """Answer every running and queued job with an error, and clear all state."""
        jobs = self._jobs()
        self._waiting.clear()
        for slot in self._slots:
            if slot.run:
                self._release(slot, slot.run)
            slot.tokens = []
        self._native.forget_all()
        for job in jobs:
            job.reply(error)

    def _prompt_tokens(self, job: Job) -> list[int]:
        request = job.request
        if request.prompt is not None:
            pieces = [request.prompt]
        else:
            if self._template is None:
                raise ModelError(
                    "The model file has no chat template.", "Use a model tuned for chat."
                )
            prompt = self._template.render(request.messages, request.tools)
            pieces = f"{prompt}{self._template.plain(request.begun)}".split(SEAM)
        size = sum(map(len, pieces))
        if size > self._native.n_ctx * _MOST_OF_TOKEN:
            raise ContextTooSmallError(
                f"The prompt has {size:,} characters, and the context has "
                f"{self._native.n_ctx:,} tokens.",
                "Shorten the prompt.",
            )
        tokens = self._native.tokenize(*pieces)
        if not tokens:
            raise InputError("The prompt is empty.", "Give some text to continue.")
        needed = 1 if request.may_shorten else request.max_tokens
        if len(tokens) + needed > self._native.n_ctx:
            raise _context_error(len(tokens), needed, self._native.n_ctx)
        return tokens

    def _jobs(self) -> list[Job]:
        return [job for job, _ in self._waiting] + [
            slot.run.job for slot in self._slots if slot.run
        ]

    def _drop_unwanted(self) -> None:
        """Drop what nobody waits for any more; what is late hears of it."""
        now = self._clock()
        dropped = [job for job in self._jobs() if job.cancelled or _is_late(job, now)]
        if not dropped:
            return
        self._waiting = [item for item in self._waiting if item[0] not in dropped]
        for slot in self._slots:
            if slot.run and slot.run.job in dropped:
                self._release(slot, slot.run)
        for job in dropped:
            if not job.cancelled:
                job.reply(_late_error(job, now))

    def _admit(self) -> None:
        while (item := self._next_waiting()) is not None:
            self._start(*item)
            # Not before: it is answered whatever fails meanwhile.
            self._waiting.remove(item)

    def _next_waiting(self) -> tuple[Job, list[int]] | None:
        if all(slot.run for slot in self._slots):
            return None
        ready = (
            item
            for item in self._waiting
            if not (self._native.can_rewind and should_wait(self._slots, item[1]))
        )
        return min(
            ready,
            key=lambda item: admission_order(item[0].request, item[0].submitted),
            default=None,
        )

    def _start(self, job: Job, prompt: list[int]) -> None:
        request = job.request
        seed = self._seed if request.seed is None else request.seed
        try:
            text = TextBuffer(request.stop)
            sampler = Sampler(self._native, request, seed)
        except Exception as error:  # noqa: BLE001 - a bad grammar is reported to the caller
            job.reply(error)
            return
        with ExitStack() as undo:
            undo.callback(sampler.close)
            slot, keep = self._place(prompt)
            undo.pop_all()
        slot.tokens = prompt[:keep]
        slot.run = ActiveRequest(job, prompt, keep, sampler, text, self._clock())
        with self._own_failure(slot, slot.run):
            if request.on_start:
                request.on_start(len(prompt), keep)

    def _place(self, prompt: list[int]) -> tuple[Slot, int]:
        """Return a free slot, and how many of a prompt's tokens it holds now, and nothing else."""
        if not self._native.can_rewind:
            slot = place(self._slots, prompt, reuse=False).slot
            self._native.forget(slot.sequence)
            return slot, 0
        slot, keep, source = place(self._slots, prompt, reuse=True)
        self._states.keep(slot, 0 if source else keep)
        if restored := self._states.restore(slot, prompt[:-FRESH_TOKENS], keep):
            return slot, restored
        if source is None:
            # A state that llama.cpp refused has left nothing in the slot.
            keep = min(keep, len(slot.tokens))
            self._native.forget(slot.sequence, keep)
        else:
            self._native.copy(source.sequence, slot.sequence, keep)
        self._states.store_shared(slot, prompt, keep)
        return slot, keep

    def _write(self) -> None:
        """Compute the next token of every answer that has started."""
        rows: list[tuple[Slot, ActiveRequest]] = []
        entries: list[BatchToken] = []
        for slot in self._slots:
            if (run := slot.run) and (token := run.next) is not None:
                rows.append((slot, run))
                position = len(run.prompt) + run.written - 1
                entries.append(BatchToken(token, position, slot.sequence, True))
        if entries:
            self._native.decode(entries)
        for row, (slot, run) in enumerate(rows):
            self._take_token(slot, run, row)

    def _read(self) -> None:
        """Compute the next part of the prompts that came first, or of the first alone."""
        reading = sorted(
            (run.started, slot.sequence, slot, run)
            for slot in self._slots
            if (run := slot.run) and run.next is None
        )
        reading = reading[: None if self._together else 1]
        remaining = [len(run.prompt) - len(slot.tokens) for _, _, slot, run in reading]
        rows: list[tuple[Slot, ActiveRequest, int]] = []
        entries: list[BatchToken] = []
        for (_, _, slot, run), count in zip(
            reading, parts_to_read(remaining, BATCH_TOKENS), strict=True
        ):
            start, last = len(slot.tokens), len(run.prompt) - 1
            entries += [
                BatchToken(run.prompt[n], n, slot.sequence, n == last)
                for n in range(start, start + count)
            ]
            slot.tokens = run.prompt[: start + count]
            if len(slot.tokens) == len(run.prompt):
                rows.append((slot, run, len(entries) - 1))
        if entries:
            self._native.decode(entries)
        for slot, run, row in rows:
            self._take_token(slot, run, row)

    @contextmanager
    def _own_failure(self, slot: Slot, run: ActiveRequest) -> Generator[None]:
        """Answer a request with what its grammar or a function of its caller raises.

        It concerns no other request.
        """
        try:
            yield
        except EarlyAbortError as error:
            self._release(slot, run)
            saved = self._most_tokens(run) - run.written
            run.job.reply(EarlyAbortError(error.problem, error.fix, saved))
        except Exception as error:  # noqa: BLE001 - the caller gets it
            self._release(slot, run)
            run.job.reply(error)

    def _take_token(self, slot: Slot, run: ActiveRequest, row: int) -> None:
        with self._own_failure(slot, run):
            self._add_token(slot, run, run.sampler.sample(row))

    def _add_token(self, slot: Slot, run: ActiveRequest, token: int) -> None:
        if self._native.is_end_token(token):
            self._finish(slot, run, "stop")
            return
        run.written += 1
        run.next = token
        if run.text.add(self._native.piece(token)):
            self._finish(slot, run, "stop")
            return
        self._hand_over(run)
        if why := self._abort_reason(run):
            self._finish(slot, run, "aborted", why)
        elif run.written >= self._most_tokens(run):
            self._finish(slot, run, "length")

    @staticmethod
    def _hand_over(run: ActiveRequest, *, ended: bool = False) -> None:
        on_text = run.job.request.on_text
        if on_text and (fresh := run.text.take(ended=ended)):
            on_text(fresh)

    def _most_tokens(self, run: ActiveRequest) -> int:
        return min(run.job.request.max_tokens, self._native.n_ctx - len(run.prompt))

    @staticmethod
    def _abort_reason(run: ActiveRequest) -> str:
        watch = run.job.request.watch
        return watch(run.text.text) if watch and run.written % WATCHED_TOKENS == 0 else ""

    def _finish(self, slot: Slot, run: ActiveRequest, finish: Finish, why: str = "") -> None:
        self._release(slot, run)
        self._hand_over(run, ended=True)
        run.job.reply(
            GeneratedText(
                text=run.text.text,
                input_tokens=len(run.prompt),
                cached_tokens=run.cached,
                output_tokens=run.written,
                finish=finish,
                queue_s=run.started - run.job.submitted,
                duration_s=self._clock() - run.started,
                why=why,
            )
        )

    def _release(self, slot: Slot, run: ActiveRequest) -> None:
        run.sampler.close()
        slot.run = None
        if self._native.can_rewind:
            # What was written stays in no cache: the next prompt begins behind the old prompt.
            self._native.forget(slot.sequence, len(slot.tokens))


def _is_late(job: Job, now: float) -> bool:
    return job.request.deadline is not None and now > job.request.deadline


def _late_error(job: Job, now: float) -> StepTimeoutError:
    return StepTimeoutError(
        f"The local model did not answer within {now - job.submitted:.0f} s.",
        "Give it more time or a lower max_tokens.",
    )


def _context_error(prompt: int, max_tokens: int, limit: int) -> ContextTooSmallError:
    return ContextTooSmallError(
        f"The prompt has {prompt:,} tokens and the answer may take {max_tokens:,} more, but the "
        f"context has {limit:,}.",
        "Shorten the prompt, ask for a shorter answer, or, if the model was trained for it, raise "
        f"n_ctx to {prompt + max_tokens:,} or more in a llama-cpp block.",
    )
