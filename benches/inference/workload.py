"""Requests to the local engine and to llama.cpp's server, and their speeds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

__all__ = [
    "MODES",
    "SHARED_PROMPTS",
    "Ask",
    "Mode",
    "Rates",
    "Setting",
    "prompts",
    "requests_at",
    "shared_prompts",
]

Mode = Literal["greedy", "sampled", "grammar"]
MODES: Mapping[Mode, str] = {
    "greedy": "greedy",
    "sampled": "sampled",
    "grammar": "greedy, under a grammar",
}
TOKENS = 48
SHARED_TOKENS = 32
SHARED_PROMPTS = 32
_FEWEST_REQUESTS = 4
_RULES = "These are the rules that every answer has to keep to, whoever asks. " * 80
_GRAMMAR = r"""root ::= line+
line ::= "- " [A-Za-z ,.']+ "\n"
"""


class Setting(NamedTuple):
    """How both are started.

    Attributes:
        slots: Requests that are computed together.
        n_ctx: Tokens of context for each.
    """

    slots: int
    n_ctx: int


class Rates(NamedTuple):
    """What one round of requests brought: tokens written, and the seconds until the last answer."""

    tokens: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.tokens / self.seconds


@dataclass(frozen=True, slots=True)
class Ask:
    """A round of requests, all sent at once.

    Attributes:
        prompts: Texts to continue.
        tokens: The most tokens to write for each.
        temperature: 0 takes the likeliest token.
        grammar: GBNF that the texts obey.
    """

    prompts: tuple[str, ...]
    tokens: int
    temperature: float = 0.0
    grammar: str | None = None

    @classmethod
    def of(cls, mode: Mode, texts: Sequence[str]) -> Ask:
        """Ask in one of the modes."""
        return cls(
            tuple(texts),
            TOKENS,
            temperature=0.8 if mode == "sampled" else 0.0,
            grammar=_GRAMMAR if mode == "grammar" else None,
        )


class Contender(Protocol):
    """What answers rounds of requests."""

    async def answer(self, ask: Ask) -> Rates:
        """Send all requests of a round at once, and wait for the last answer."""
        ...


def requests_at(slots: int) -> int:
    """Return how many requests a round has: each slot gets at least one."""
    return max(_FEWEST_REQUESTS, slots)


def prompts(count: int, number: int) -> list[str]:
    """Return short prompts; no two rounds have one in common.

    Args:
        count: How many.
        number: The round's.
    """
    return [f"{number}.{n} Once upon a time there was a" for n in range(count)]


def shared_prompts(number: int) -> list[str]:
    """Return prompts with the same beginning, of 1,200 tokens or so, that no other round has."""
    return [f"{number} {_RULES}Once upon a time there were {n}" for n in range(SHARED_PROMPTS)]


def shared_ask(number: int) -> Ask:
    """Return a round of prompts with the same beginning."""
    return Ask(tuple(shared_prompts(number)), SHARED_TOKENS)
