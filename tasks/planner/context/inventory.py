"""What a swarm has: tiers with models and prices, and gates. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ....gates import DEFAULT_GATES, Gate, gate_name
from ....model_names import model_names, without_place
from ....output import OutputKind
from ....pricing import Price
from ....task_ir import TIERS, Tier
from ....text import one_line
from .facts import GateFact, TierFact

__all__ = ["gate_facts", "tier_facts"]

_MILLION = 1_000_000
_MOST_GATES = 40


def tier_facts(
    model_of: Callable[[Tier], str], price_of: Callable[[str], Price | None]
) -> tuple[TierFact, ...]:
    """Return which models the tiers have, cheapest tier first; tiers of the same model together.

    Args:
        model_of: The name of a tier's model, or of several that stand in for one another.
        price_of: What a token of such a name costs; None where that isn't known.
    """
    by_model: dict[str, list[Tier]] = {}
    for tier in TIERS:
        by_model.setdefault(model_of(tier), []).append(tier)
    return tuple(_tier_fact(name, tiers, price_of(name)) for name, tiers in by_model.items())


def gate_facts(gates: Iterable[Gate]) -> tuple[GateFact, ...]:
    """Return what passes each gate, and which kinds have it by default."""
    defaults: dict[OutputKind, set[str]] = {
        kind: {*map(gate_name, names)} for kind, names in DEFAULT_GATES.items()
    }
    return tuple(
        GateFact(
            name=gate.name,
            about=one_line(gate.about, 200),
            default_for=tuple(kind for kind, names in defaults.items() if gate.name in names),
        )
        for gate in [*gates][:_MOST_GATES]
    )


def _tier_fact(name: str, tiers: list[Tier], price: Price | None) -> TierFact:
    return TierFact(
        tiers=tuple(tiers),
        model=", else ".join(map(_shown, model_names(name))),
        read_usd=price.input_usd * _MILLION if price else None,
        written_usd=price.output_usd * _MILLION if price else None,
    )


def _shown(name: str) -> str:
    """Write a model's name; no provider has to know addresses, folders and variables of keys."""
    return one_line(without_place(name).removeprefix("llamacpp:").partition("#")[0], 100)
