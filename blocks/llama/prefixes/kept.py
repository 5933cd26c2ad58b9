"""The states that are kept in memory, least recently used first to go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..slots import common_prefix

__all__ = ["KeptPrefixes", "PrefixState"]


@dataclass(frozen=True, slots=True, eq=False)
class PrefixState:
    """What llama.cpp has computed for a prompt, or for its beginning.

    Attributes:
        tokens: The prompt's tokens.
        data: What `Native.save` gave for them.
    """

    tokens: list[int]
    data: bytes


class KeptPrefixes:
    """States up to so many bytes together."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._states: list[PrefixState] = []

    @property
    def size(self) -> int:
        """Bytes of all states."""
        return sum(len(state.data) for state in self._states)

    def find(self, prompt: Sequence[int]) -> tuple[PrefixState | None, int]:
        """Return the state that has most of a prompt's beginning, and how many tokens of it."""
        best, length = None, 0
        for state in self._states:
            if (common := common_prefix(state.tokens, prompt)) > length:
                best, length = state, common
        if best is not None:
            self._states.remove(best)
            self._states.append(best)
        return best, length

    def put(self, state: PrefixState) -> None:
        """Keep a state, unless it is larger than all may be together.

        What it begins with is in it and goes; then those go that were not used for longest.
        """
        if len(state.data) > self._most_bytes:
            return
        self._states = [
            kept
            for kept in self._states
            if common_prefix(kept.tokens, state.tokens) < len(kept.tokens)
        ]
        self._states.append(state)
        while self.size > self._most_bytes:
            del self._states[0]

    def drop(self, state: PrefixState) -> None:
        """Keep a state no longer, if it is kept."""
        self._states = [kept for kept in self._states if kept is not state]
