"""The profile of a model, and what its tokens cost."""

from __future__ import annotations

from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel

from ..pricing import FREE, Price, look_up
from .local import local_model
from .profile import Profile

__all__ = ["price_of", "profile_of", "takes_pictures"]


def takes_pictures(model: Model) -> bool:
    """Say whether a model can be shown pictures: no model file can.

    Of a provider's models pydantic-ai knows which can't. Of models that stand in for one another
    each has to.
    """
    if isinstance(model, FallbackModel):
        return all(map(takes_pictures, model.models))
    return local_model(model) is None and bool(model.profile.get("supports_image_input", True))


def profile_of(model: Model) -> Profile:
    """Return a model's profile.

    A model file's follows from the file and the machine. A provider's has no bound of ours but
    what fits its context, where pydantic-ai knows that: three quarters of it are for what a step
    reads. Of models that stand in for one another the smallest context counts, and the first one's
    figures else.
    """
    if isinstance(model, FallbackModel):
        first, *others = map(profile_of, model.models)
        sizes = [each.max_input_tokens for each in (first, *others) if each.max_input_tokens]
        return first.model_copy(update={"max_input_tokens": min(sizes, default=None)})
    if (local := local_model(model)) is not None:
        return local.limits
    context = model.context_window
    return Profile(context_tokens=context, max_input_tokens=context * 3 // 4 if context else None)


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
