"""Remote models, through pydantic-ai."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import InputError, ModelError
from ..host.url_secrets import secret_in
from .answers.reasoning import NO_TAGS

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["MODEL_FORMS", "key_from", "remote_model"]

_NO_KEY = "no-key"
"""Sent as the key to a server that gets none, since clients require one."""

MODEL_FORMS = (
    "demo, llamacpp:PATH, block:TYPE/NAME, openai:NAME@http://host:port/v1 (with #VARIABLE behind "
    "it for a key in the environment), or a pydantic-ai name such as anthropic:claude-sonnet-4-5"
)
"""The forms a model's name may have, for messages."""


def remote_model(name: str, *, base_url: str | None = None, api_key: str | None = None) -> Model:
    """Make a client for a remote model; nothing is sent before its first request.

    Args:
        name: A pydantic-ai name such as `anthropic:claude-sonnet-4-5`. With a base URL,
            `openai:NAME`, or a NAME without a provider, speaks chat completions with an
            OpenAI-compatible server.
        base_url: Where the service is, if not where its provider says.
        api_key: Its key. Without it, the key in the provider's environment variable is sent to the
            provider's own hosts, and no key to any other.

    Raises:
        InputError: The name or the base URL is not valid.
        ModelError: The provider lacks a key or its package is not installed.
    """
    if base_url and (what := secret_in(base_url)):
        raise InputError(
            f"The base URL of the model {name!r} has {what}.",
            "Put the key into the block's API key, or into an environment variable that #VARIABLE "
            "behind the URL names.",
        )
    if base_url and not base_url.startswith(("http://", "https://")):
        raise InputError(
            f"The base URL {base_url!r} of the model {name!r} is not a web address.",
            "Write it like http://localhost:8000/v1.",
        )
    provider, _, model = name.partition(":")
    if name != "test" and not _is_provider(provider):
        if not base_url:
            raise InputError(f"There is no model {name!r}.", f"Name {MODEL_FORMS}.")
        provider, model = "openai", name
    is_own = not base_url or _is_own_host(provider, base_url)
    key = api_key if is_own else api_key or _NO_KEY
    if base_url and provider in ("openai", "openai-chat"):
        made = _openai_compatible(model, base_url, key)
    else:
        made = _known_provider(name, base_url, key)
    _leave_retries_to_the_limiter(made)
    _leave_reasoning_to_the_reader(made)
    from .answers.sizes import bound_answers

    bound_answers(made)
    return made if is_own and provider.startswith("openai") else _without_organization(made)


def key_from(variable: str, name: str) -> str:
    """The key of a model in an environment variable.

    Raises:
        ModelError: The variable is not set, or empty.
    """
    if not (key := os.environ.get(variable)):
        raise ModelError(
            f"The model {name!r} takes its key from the environment variable {variable}, which is "
            "not set.",
            f"Set {variable}, or name the right variable behind the #.",
        )
    return key


def _is_own_host(provider: str, base_url: str) -> bool:
    """Whether a URL is of the provider's own service, so that its key may be sent there."""
    from pydantic_ai.providers import infer_provider_class

    try:
        make: Any = infer_provider_class(provider)
        own = urlsplit(str(make(api_key=_NO_KEY).base_url))
    except Exception:  # noqa: BLE001 - without its package, a key or an address no host is its own
        return False
    url = urlsplit(base_url)
    host, own_host = url.hostname or "", own.hostname or ""
    is_below = host == own_host or host.endswith(f".{own_host}")
    return bool(own_host) and url.scheme == own.scheme and is_below


def _is_provider(name: str) -> bool:
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(name)
    except ValueError:
        return False
    except ImportError:
        pass  # A known provider whose package is not installed.
    return True


def _openai_compatible(model: str, base_url: str, api_key: str | None) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    if not model:
        raise InputError(
            f"No model is named for the server {base_url}.",
            "Write openai:NAME@http://host:port/v1.",
        )
    return OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key=api_key))


def _leave_retries_to_the_limiter(model: Model) -> None:
    client: Any = getattr(model, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0


def _leave_reasoning_to_the_reader(model: Model) -> None:
    """Have tags of reasoning left in texts: of one that isn't closed the client keeps no trace."""
    vars(model)["profile"] = {**model.profile, "thinking_tags": NO_TAGS}


def _without_organization(model: Model) -> Model:
    """Send no OpenAI organization and project, which the client reads from the environment."""
    client: Any = getattr(model, "client", None)
    if hasattr(client, "organization"):
        client.organization = client.project = None
    return model


def _known_provider(name: str, base_url: str | None, api_key: str | None) -> Model:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

    given = {"base_url": base_url, "api_key": api_key}
    options = {key: value for key, value in given.items() if value}

    def make_provider(provider: str) -> Provider[Any]:
        return infer_provider_class(provider)(**options)

    try:
        return infer_model(name, make_provider if options else infer_provider)
    except UserError as error:
        reason, _, _ = str(error).partition(". ")
        if not reason.startswith("Set "):
            raise ModelError(f"The model {name!r} can't be used: {reason}.") from None
        raise ModelError(
            f"The model {name!r} has no key.",
            f"{reason}. Or put the key into a swarm-model block, or name another model.",
        ) from None
    except ImportError as error:
        raise ModelError(f"The model {name!r} can't be used: {error}.") from None
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The provider of {name!r} can't be used with {' and '.join(options)}: {error}.",
            "Leave them out, or name another provider.",
        ) from None
