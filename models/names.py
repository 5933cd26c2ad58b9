"""Names of models: their parts, profile and price of tokens, and what is registered under one."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from pydantic import Field

from ..data_types import Frozen
from ..errors import InputError, ModelError
from ..host.secrets import masked_urls, secret_in

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.models import Model

__all__ = [
    "EMBEDDED",
    "FREE",
    "PYTHON",
    "Price",
    "Profile",
    "RegisteredModel",
    "is_variable",
    "look_up",
    "model_names",
    "price_of_name",
    "reads_text_alone",
    "refuse_secrets",
    "register_model",
    "registered_model",
    "servers_of",
    "with_key",
    "without_place",
]


PYTHON = "python:"
"""What the names of models begin with that were given in Python."""

# A comma ends a name only where another one begins: paths and URLs may have commas.
_NEXT = re.compile(r",\s*(?=demo\b|[A-Za-z][\w-]*:)")
_WITHOUT_URL = ("llamacpp:", "block:", PYTHON)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONG_PART = 10
"""Characters of a part of a variable's name, from which on one with digits amid it is a key."""


def refuse_secrets(text: str) -> None:
    """Refuse a model's name that has a password or key, which would be stored and shown with it.

    Args:
        text: A name, or several.

    Raises:
        InputError: One has; neither the problem nor the advice repeats it.
    """
    names = (name.strip() for name in _NEXT.split(text))
    remote = [name for name in names if not name.startswith(_WITHOUT_URL)]
    for name in remote:
        before, _, behind = name.partition("@")
        # Without a model before it, the address has the first @ itself.
        model, address = ("", name) if "://" in before else (before.partition("#")[0], behind)
        url, has_variable, variable = address.partition("#")
        what = secret_in(address) or (
            "a user or password before the @" if "@" in url and "://" not in url else ""
        )
        if what:
            raise _secret(model, what)
        if has_variable and not is_variable(variable):
            raise _secret(model, "something else than an environment variable's name behind the #")
    # A comma in a password may look like the next name's beginning.
    if remote and masked_urls(text) != text:
        raise _secret("", "a user or password before the @")


def is_variable(name: str) -> bool:
    """Say whether a text can be an environment variable's name, and isn't the key itself."""
    if not _VARIABLE.fullmatch(name):
        return False
    long = (part for part in name.split("_") if len(part) >= _LONG_PART)
    return not any(re.search(r"\d", part) and re.search("[A-Za-z]", part) for part in long)


def _secret(model: str, what: str) -> InputError:
    named = f"the model {model!r}" if model else "a model"
    return InputError(
        f"The address of {named} has {what}.",
        "Put the key into an environment variable, and the variable's name behind the address: "
        f"{model or 'openai:NAME'}@https://HOST/v1#VARIABLE.",
    )


def model_names(text: str) -> tuple[str, ...]:
    """Return the names of a tier's models, the one that serves first; the others stand in for it.

    Raises:
        InputError: One of several is empty or named twice.
    """
    names = tuple(name.strip() for name in _NEXT.split(text))
    if len(set(names)) < len(names) or (len(names) > 1 and not all(names)):
        raise InputError(f"The models {text!r} repeat one.", "Name each model once: a,b.")
    return names


def without_place(name: str) -> str:
    """Return a model's name without its server, the variable of its key, and a file's folder."""
    kind, _, rest = name.partition(":")
    if kind == "llamacpp":
        return f"{kind}:{PurePath(rest).name}"
    return name.partition("@")[0] if "://" in name else masked_urls(name)


def servers_of(text: str) -> frozenset[str]:
    """Return the servers, scheme and host, of the names that have a URL."""
    urls = (name.partition("@")[2] for name in model_names(text))
    parts = (urlsplit(url) for url in urls if "://" in url)
    return frozenset(f"{url.scheme}://{url.netloc.rpartition('@')[2]}" for url in parts)


def with_key(text: str, variable: str | None, servers: frozenset[str] | None = None) -> str:
    """Return the names, those of servers at a URL with the environment variable of their key.

    A name that says which variable holds its key keeps it.

    Args:
        text: A name, or several.
        variable: The variable; None leaves the names as they are.
        servers: The only servers that get the key; None for all.
    """
    if not variable:
        return text

    def keyed(name: str) -> str:
        is_without = "@http" in name and "#" not in name
        is_trusted = servers is None or servers_of(name) <= servers
        return f"{name}#{variable}" if is_without and is_trusted else name

    return ",".join(map(keyed, model_names(text)))


_REMOTE_CONCURRENCY = 32
"""Requests under way at a provider; a provider that refuses some is sent fewer."""


class Profile(Frozen):
    """The defaults of one model; what a user sets comes first.

    None is not a bound of ours: nothing is sent, and the provider's own applies.
    """

    context_tokens: int | None = Field(
        default=None, description="Tokens of a request, prompt and answer together."
    )
    max_input_tokens: int | None = Field(
        default=None, description="Tokens of earlier outputs that a step reads."
    )
    max_output_tokens: int | None = Field(default=None, description="Tokens that an answer takes.")
    temperature: float | None = None
    sample_temperature: float | None = Field(
        default=None, description="Sampling temperature of further samples of an answer."
    )
    concurrency: int = Field(default=_REMOTE_CONCURRENCY, ge=1, description="Requests in parallel.")
    feedback_chars: int = Field(
        default=4000, ge=1, description="Characters of what was wrong that an attempt reads."
    )
    timeout_s: float = Field(default=600.0, gt=0, description="Seconds of work of an attempt.")
    takes_pictures: bool = Field(default=True, description="Whether it is shown pictures.")


EMBEDDED = Profile(
    context_tokens=4096,
    max_input_tokens=1334,
    max_output_tokens=256,
    sample_temperature=0.8,
    concurrency=8,
    feedback_chars=600,
    timeout_s=300.0,
    takes_pictures=False,
)
"""The embedded model's. Its figures are small since it loses its task over more."""


_TEXT_ALONE = re.compile(
    r"gpt-3|gpt-4(-0613|-0314|-32k.*)?$|gpt-oss|o1-(mini|preview)|o3-mini|(text-)?davinci|babbage"
    r"|deepseek|codestral|mixtral|(open-)?mistral-(7b|nemo)|command-r|qwq|kimi-k2(?!\.[5-9])"
    r"|qwen-?(1|2|2\.5|3)-|qwen3(\.0)?(-|:)|llama-?(2|3|3\.1|3\.2-[13]b|3\.3)(-|:|$)|phi-?[1-4](-|:|$)"
    r"|gemma-?[12](-|:)|gemma-[27]b|smollm2|granite|glm-4\.[5-9](?!v)|minimax-m[12]"
)
_SEEING = re.compile(r"vision|(^|[^a-z])(vl|vlm|ocr)([^a-z]|$)|omni|multimodal|image")


def reads_text_alone(model: str) -> bool:
    """Say whether a model is of a family that is known to take no pictures, by its name.

    Args:
        model: The provider's name for it, with or without an organisation before a slash.
    """
    name = model.rpartition("/")[2].casefold()
    return bool(_TEXT_ALONE.match(name)) and not _SEEING.search(name)


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


RegisteredModel: TypeAlias = "Model | Agent[Any, Any]"


# Put in by `register_model`, where options take a model in a name's place; found by
# `registered_model` when the name is resolved. A flow's parameters are stored as JSON, which a
# model is not.
_registered: dict[str, RegisteredModel] = {}
_lock = threading.Lock()


def register_model(model: RegisteredModel) -> str:
    """Return the name that stands for a model in this process alone, the same each time."""
    with _lock:
        for name, known in _registered.items():
            if known is model:
                return name
        name = f"{PYTHON}{_label(model)}#{uuid4().hex[:8]}"
        _registered[name] = model
        return name


def registered_model(name: str) -> RegisteredModel:
    """Return the model of a name.

    Raises:
        ModelError: It was registered in another process.
    """
    try:
        return _registered[name]
    except KeyError:
        raise ModelError(
            f"The model {name!r} was given in Python, in another process.",
            "Give it again with override_models, or name another model.",
        ) from None


def _label(model: RegisteredModel) -> str:
    from pydantic_ai.models import Model

    label = model.model_name if isinstance(model, Model) else model.name or "agent"
    # A comma would end the name.
    return label.replace(",", "+")
