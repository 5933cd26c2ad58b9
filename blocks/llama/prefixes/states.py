"""When a prompt's state is kept, stored and used again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..slots import Slot
from .folder import PrefixFolder
from .kept import KeptPrefixes, PrefixState

if TYPE_CHECKING:
    from ..native import Native

__all__ = ["PrefixStates"]

_KEPT_BYTES = 256 << 20
_WORTH_RESTORING = 64
"""Tokens that a state must save beyond what the slots do: reading it takes as long as computing a
few."""
_WORTH_KEEPING = 256
"""Tokens from which a prompt is kept that its slot loses, and a shared beginning is stored."""
_OWN_TOKENS = 16
"""Tokens in which two prompts must differ at their end: asking the same again shares nothing."""


class PrefixStates:
    """The states of one context's prompts; used in the thread that the context belongs to."""

    def __init__(self, native: Native, folder: PrefixFolder | None = None) -> None:
        self._native = native
        self._kept = KeptPrefixes(_KEPT_BYTES)
        self._folder = folder

    def keep(self, slot: Slot, left: int) -> None:
        """Keep what a free slot is about to lose, all but the first `left` tokens."""
        length = len(slot.tokens)
        if length - left < _WORTH_KEEPING or self._kept.find(slot.tokens)[1] == length:
            return
        self._native.forget(slot.sequence, length)
        self._kept.put(PrefixState(slot.tokens, self._native.save(slot.sequence)))

    def restore(self, slot: Slot, prompt: Sequence[int], found: int) -> int:
        """Restore a prompt's beginning in a free slot, if a state has much more than was found.

        Returns:
            How many of its tokens the slot holds now; 0 if it is unchanged.
        """
        state, length = self._best(prompt, found + _WORTH_RESTORING)
        if state is None:
            return 0
        self._native.forget(slot.sequence)
        if not self._native.restore(slot.sequence, state.data):
            self._native.forget(slot.sequence)
            slot.tokens = []
            self._kept.drop(state)
            return 0
        self._native.forget(slot.sequence, length)
        return length

    def store_shared(self, slot: Slot, prompt: Sequence[int], length: int) -> None:
        """Store the beginning that a prompt shares with another for processes to come.

        The slot holds it, and nothing else.
        """
        if self._folder is None or length < _WORTH_KEEPING or len(prompt) - length < _OWN_TOKENS:
            return
        tokens = list(prompt[:length])
        if self._folder.find(tokens)[1] < length:
            self._folder.write(PrefixState(tokens, self._native.save(slot.sequence)))

    def _best(self, prompt: Sequence[int], least: int) -> tuple[PrefixState | None, int]:
        state, length = self._kept.find(prompt)
        path, stored = self._folder.find(prompt) if self._folder else (None, 0)
        if self._folder and path is not None and stored >= max(least, length + 1):
            read = self._folder.load(path)
            if read is not None:
                self._kept.put(read)
                return read, stored
        return (state, length) if length >= least else (None, 0)
