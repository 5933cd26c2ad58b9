"""Names that a person may have meant who left out a model's provider, or mistyped it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import get_args

__all__ = ["names_like", "suggested_names"]

_MOST = 3
_FAMILY = re.compile(r"[a-z]+")


def suggested_names(name: str) -> tuple[str, ...]:
    """Return names that pydantic-ai takes and that one may stand for, the likeliest first."""
    # Here and not above: it imports the clients' types.
    from pydantic_ai.models import KnownModelName

    return names_like(name, get_args(KnownModelName.__value__))


def names_like(name: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the name behind each provider that may have the model, three at most. Pure.

    A model that none of the known names has is offered behind the providers of its family: gpt-5
    behind that of the most other gpt models.

    Args:
        name: What was written: a model without its provider, or behind a mistyped one.
        known: Names with their providers, `openai:gpt-5`.
    """
    pairs = [each.split(":", 1) for each in known if ":" in each and "/" not in each.split(":")[0]]
    provider, _, model = name.strip().lower().rpartition(":")
    if provider:
        providers = get_close_matches(provider, sorted({each for each, _ in pairs}), 1)
        return tuple(f"{each}:{model}" for each in providers)
    family = _family(model)
    exact = {provider for provider, other in pairs if other == model}
    alike = Counter(p for p, other in pairs if family and _family(other) == family)
    own = exact or {*alike}
    models = Counter(provider for provider, _ in pairs)
    share = {provider: alike[provider] / models[provider] for provider in own}
    # Who makes a model has little else; those who host it have others, too.
    makers = {provider for provider in own if share[provider] > 0.5} or own
    ranked = sorted(makers, key=lambda provider: (-share[provider], len(provider), provider))
    # openai-chat is another way to openai.
    ways = [p for p in ranked if not any(p.startswith(f"{other}-") for other in ranked)]
    return tuple(f"{provider}:{model}" for provider in ways[:_MOST])


def _family(model: str) -> str:
    found = _FAMILY.match(model)
    return found[0] if found else ""
