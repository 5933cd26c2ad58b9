"""What tokens of a model cost."""

from __future__ import annotations

from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel

from ..pricing import FREE, Price, look_up
from .local import local_model

__all__ = ["price_of"]


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
    return look_up(model.model_name, model.system, model.base_url)
