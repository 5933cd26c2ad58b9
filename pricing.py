"""What tokens cost, by the price table of genai-prices."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FREE", "Price", "look_up", "price_of_name"]

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


def look_up(model: str, provider: str, url: str | None = None) -> Price | None:
    """Return the price of a provider's model; None where the table doesn't have it.

    A server at another URL is taken to cost what the provider's own would.
    """
    reading = _usd(model, provider, url, input_tokens=_MANY)
    writing = _usd(model, provider, url, output_tokens=_MANY)
    if reading is None or writing is None:
        return None
    return Price(reading / _MANY, writing / _MANY)


def price_of_name(name: str) -> Price | None:
    """Return the price of a model by its name alone, as the command line has it.

    None for a block, for a model given in Python, and where the table doesn't have it.
    """
    kind, colon, rest = name.partition(":")
    if name == "demo" or kind == "llamacpp":
        return FREE
    if not colon or kind in ("block", "python"):
        return None
    model, _, url = rest.partition("@")
    return look_up(model, kind.removesuffix("-chat").removesuffix("-responses"), url or None)


def _usd(
    model: str, provider: str, url: str | None, *, input_tokens: int = 0, output_tokens: int = 0
) -> float | None:
    # Only who asks for a price waits for the table.
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    if url:
        try:
            return float(calc_price(usage, model, provider_api_url=url).total_price)
        except (LookupError, ValueError):
            pass
    try:
        return float(calc_price(usage, model, provider_id=provider).total_price)
    except (LookupError, ValueError):
        return None
