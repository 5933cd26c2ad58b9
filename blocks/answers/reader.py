"""The reader: gives an answer its one form, pass by pass. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestParameters

from .ends import read_end

__all__ = ["read_response"]

_Pass = Callable[[ModelResponse, ModelRequestParameters], ModelResponse]

_PASSES: tuple[_Pass, ...] = (read_end,)
"""Each takes the answer that the one before it returned."""


def read_response(answer: ModelResponse, asked: ModelRequestParameters) -> ModelResponse:
    """Return an answer in the form that all of the package reads.

    Args:
        answer: What the provider's client made of it.
        asked: The tools and the output that the request offered.

    Raises:
        ModelAPIError: The answer is an error of the provider, or was broken off.
    """
    for give_form in _PASSES:
        answer = give_form(answer, asked)
    return answer
