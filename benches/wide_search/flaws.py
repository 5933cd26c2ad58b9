"""What a flawed model does wrong, by a seed: it forgets, misreads and tires. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["FLAWED", "ORACLE", "Flaws"]


@dataclass(frozen=True, slots=True)
class Flaws:
    """How a model differs from one that reads perfectly; the defaults are that one.

    Attributes:
        context: Tokens of a conversation, its newest, that it knows beside its prompt; None for
            all of them.
        misreads: The share of the cells on pages that it takes down wrongly.
        miscopies: The share of the cells of a table that it writes down wrongly again.
        tires: How much likelier it stops with each request of a conversation.
        seed: Of the trial.
    """

    context: int | None = None
    misreads: float = 0.0
    miscopies: float = 0.0
    tires: float = 0.0
    seed: int = 0

    def read(self, value: str, place: str) -> str:
        """Return a value as it is taken from a page: in one trial, by everybody the same way."""
        return _wrong(value) if self.chance(place) < self.misreads else value

    def copy(self, value: str, conversation: str, place: str) -> str:
        """Return a cell as it is written down again."""
        return _wrong(value) if self.chance(conversation, place) < self.miscopies else value

    def has_stopped(self, conversation: str, request: int) -> bool:
        """Whether it has had enough at this request, the first being 1, or before."""
        return bool(self.tires) and request >= _stop(self, conversation)

    def chance(self, *of: str) -> float:
        """Return a number from 0 to below 1 that is the same for the same texts."""
        if not (self.misreads or self.miscopies or self.tires):
            return 1.0
        text = "\n".join([str(self.seed), *of])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


ORACLE = Flaws()
FLAWED = Flaws(context=32_000, misreads=0.05, miscopies=0.005, tires=0.0002)
_MOST = 10_000


@lru_cache(maxsize=10_000)
def _stop(flaws: Flaws, conversation: str) -> int:
    """Return the request of a conversation at which it stops."""
    return next(
        n for n in range(1, _MOST) if flaws.chance(conversation, f"tired {n}") < flaws.tires * n
    )


def _wrong(value: str) -> str:
    """Return another value that looks alike: two digits or letters of it have changed places."""
    if value.isdigit():
        return str(int(value) + max(2, int(value) // 9))
    return f"{value[:-2]}{value[-1:]}{value[-2:-1]}" if value[-2:-1] != value[-1:] else f"{value}e"
