"""The reader: gives an answer its one form, pass by pass. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestParameters

from .arguments import read_arguments
from .call_text import make_calls
from .completion import read_end
from .reasoning import take_reasoning
from .stream import MOST_CALLS, too_many_calls
from .surrogates import make_whole

__all__ = ["read_response", "read_texts"]

_Pass = Callable[[ModelResponse, ModelRequestParameters], ModelResponse]

_PASSES: tuple[_Pass, ...] = (make_whole, take_reasoning, make_calls, read_arguments)
"""Each takes the answer that the one before it returned."""


def read_response(answer: ModelResponse, asked: ModelRequestParameters) -> ModelResponse:
    """Return a provider's answer in the form that all of the package reads.

    Args:
        answer: What the provider's client made of it.
        asked: The tools and the output that the request offered.

    Raises:
        ModelAPIError: The answer is an error of the provider, or was broken off.
    """
    return read_texts(read_end(answer, asked), asked)


def read_texts(answer: ModelResponse, asked: ModelRequestParameters) -> ModelResponse:
    """Return an answer whose end is known, with its texts and calls in their one form.

    Raises:
        ModelAPIError: It has more calls than are read.
    """
    if (calls := len(answer.tool_calls)) > MOST_CALLS:
        raise too_many_calls(answer.model_name or "", calls)
    for give_form in _PASSES:
        answer = give_form(answer, asked)
    return answer
