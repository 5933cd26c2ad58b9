"""What a model's answers took. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_ai.messages import ModelMessage, ModelResponse

from ..blocks.agent import REQUESTS
from ..blocks.answers.usage import ESTIMATED
from ..result import Usage

__all__ = ["usage_of"]


def usage_of(messages: Iterable[ModelMessage]) -> Usage:
    """Return what the answers among these messages took; the price where each one's is known."""
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    return sum(map(_usage, answers), Usage())


def _usage(answer: ModelResponse) -> Usage:
    try:
        cost = float(answer.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        cost = None
    return Usage(
        requests=(answer.provider_details or {}).get(REQUESTS, 1),
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        cost_usd=cost,
        estimated=answer.usage.details.get(ESTIMATED, 0),
    )
