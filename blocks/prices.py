"""What tokens of a model cost, by the price table of genai-prices."""

from __future__ import annotations

from dataclasses import dataclass

from genai_prices import Usage, calc_price
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel

from .local import local_model

__all__ = ["FREE", "Price", "price_of"]

_MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a token read, and for one written."""

    input_usd: float
    output_usd: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return what so many tokens cost, in US dollars."""
        return input_tokens * self.input_usd + output_tokens * self.output_usd


FREE = Price(0.0, 0.0)
"""The price of a model file."""


def price_of(model: Model) -> Price | None:
    """Return the price of a model, the highest where several stand in for one another.

    None where the table doesn't have it.
    """
    if isinstance(model, FallbackModel):
        prices = [price_of(each) for each in model.models]
        known = [price for price in prices if price is not None]
        if len(known) < len(prices):
            return None
        return Price(max(p.input_usd for p in known), max(p.output_usd for p in known))
    if local_model(model) is not None:
        return FREE
    reading = _usd(model, Usage(input_tokens=_MANY))
    writing = _usd(model, Usage(output_tokens=_MANY))
    if reading is None or writing is None:
        return None
    return Price(reading / _MANY, writing / _MANY)


def _usd(model: Model, usage: Usage) -> float | None:
    name = model.model_name
    try:
        return float(calc_price(usage, name, provider_api_url=model.base_url).total_price)
    except (LookupError, ValueError):
        pass
    try:
        return float(calc_price(usage, name, provider_id=model.system).total_price)
    except (LookupError, ValueError):
        return None
