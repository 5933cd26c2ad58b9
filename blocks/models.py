"""Models by their names, as settings and plans write them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel

from ..errors import InputError, ModelError, StepTimeoutError
from ..host.url_secrets import secret_in
from ..local_extra import require_llama_cpp
from ..model_names import PYTHON, model_names, refuse_secrets
from .agent import AgentModel, model_of
from .given import GivenModel, given_model
from .limiter.limiter import ALONE, WITH_FALLBACK, Patience
from .limiter.model import LimitedModel
from .local import local_model
from .loop_models import forget_all, models_of_loop
from .remote import MODEL_FORMS, key_from, remote_model

if TYPE_CHECKING:
    from .llama.model import LlamaCppModel

__all__ = [
    "MODEL_FORMS",
    "forget_models",
    "override_models",
    "planner_adapter_of",
    "resolve_model",
]

# Put in by `override_models`, found by `resolve_model` in the task runs that are started inside.
_overrides: ContextVar[Mapping[str, GivenModel]] = ContextVar("model_overrides")


@contextmanager
def override_models(
    *,
    worker: GivenModel | None = None,
    coder: GivenModel | None = None,
    architect: GivenModel | None = None,
    orchestrator: GivenModel | None = None,
) -> Generator[None]:
    """Put a model or an agent in a tier's place for the code inside, whatever the settings name.

    Example:
        ```python
        with override_models(worker=TestModel(), orchestrator=my_model):
            await swarm("...")
        ```
    """
    given = {
        "worker": worker,
        "coder": coder,
        "architect": architect,
        "orchestrator": orchestrator,
    }
    named = {tier: model for tier, model in given.items() if model is not None}
    token = _overrides.set({**_overrides.get({}), **named})
    try:
        yield
    finally:
        _overrides.reset(token)


async def resolve_model(name: str, tier: str) -> Model:
    """The model of a name, made once for this event loop.

    Requests to a provider go through its limiter. Where the name has several models, the first one
    serves, and the next one where that one can't.

    Args:
        name: One of `MODEL_FORMS`, or several of them with commas between.
        tier: The tier it is for; a model that `override_models` gave it comes first.

    Raises:
        InputError: The name has none of the forms, or is local and llama.cpp is not installed.
        ModelError: It is well-formed, but the file, block, key or package is missing, or a run of
            another event loop is using it.
    """
    models = models_of_loop()
    override = _overrides.get({}).get(tier)
    # What is made holds the override, whose identity is therefore its own for as long.
    key = name if override is None else id(override)
    if key not in models.made:
        try:
            made = await _make_models(name) if override is None else _limited(override)
        except ModelError as error:
            raise type(error)(f"Tier {tier}: {error.problem}", error.fix) from None
        except InputError as error:
            raise InputError(f"Tier {tier}: {error.problem}", error.fix) from None
        # Two calls may have made it at the same time; all use the first.
        models.made.setdefault(key, made)
    return await models.enter(models.made[key])


def planner_adapter_of(name: str) -> Path | None:
    """The adapter that the model of a name plans with, as far as its name tells.

    None for a remote model, a block, and a model that can't be loaded.
    """
    kind, _, path = name.partition(":")
    try:
        if name == "demo" or (kind == "llamacpp" and path):
            return _local_model(path or None).planner_adapter
    except (InputError, ModelError):
        pass  # `resolve_model` reports what is wrong.
    return None


def forget_models() -> None:
    """Drop all models, so that edited blocks are read again."""
    forget_all()


async def _make_models(text: str) -> Model:
    refuse_secrets(text)
    names = model_names(text)
    if len(names) == 1:
        return _limited(await _make_model(names[0]))
    made = [await _make_model(name) for name in names]
    patient = [_limited(model, WITH_FALLBACK) for model in made[:-1]]
    return FallbackModel(
        *patient, _limited(made[-1]), fallback_on=(ModelAPIError, ModelError, StepTimeoutError)
    )


async def _make_model(name: str) -> GivenModel:
    if name == "demo":
        return _local_model(None)
    if name.startswith(PYTHON):
        return given_model(name)
    kind, _, rest = name.partition(":")
    if kind == "llamacpp" and rest:
        return _local_model(rest)
    if kind == "block":
        return await _load_from_block(rest)
    model, at, base_url = name.partition("@")
    if at and "://" in base_url:
        base_url, _, variable = base_url.partition("#")
        key = key_from(variable, name) if variable else None
        return remote_model(model, base_url=base_url, api_key=key)
    return remote_model(name)


def _limited(model: GivenModel, patience: Patience = ALONE) -> Model:
    """Send what asks a provider through the provider's limiter."""
    if not isinstance(model, Model):
        return AgentModel(model, _limited(model_of(model), patience))
    if isinstance(model, FallbackModel):
        return _with_limited(model)
    if isinstance(model, LimitedModel) or local_model(model):
        return model
    if what := secret_in(str(model.base_url or "")):
        # pydantic-ai writes the address into each answer.
        raise InputError(
            f"The address of the model {model.model_name!r} has {what}.",
            "Give its key to its provider, as api_key.",
        )
    return LimitedModel(_readable(model), patience)


def _readable(model: Model) -> Model:
    """Return a model that reads what compatible servers send, if it asks one."""
    if not type(model).__module__.startswith("pydantic_ai.models.openai"):
        return model
    from .answers.compatible import compatible

    return compatible(model)


def _with_limited(model: FallbackModel) -> FallbackModel:
    """Return a model of Python's that asks several in turn, each through its limiter."""
    *first, last = model.models
    limited = copy(model)
    limited.models = [*(_limited(each, WITH_FALLBACK) for each in first), _limited(last)]
    # The identity of what was given stands for this one.
    vars(limited)["given"] = model
    return limited


def _local_model(path: str | None) -> LlamaCppModel:
    from .llama import demo_model_path
    from .llama.model import LlamaCppModel

    require_llama_cpp(demo=path is None)
    return LlamaCppModel(path or demo_model_path())


async def _load_from_block(reference: str) -> Model:
    from prefect.blocks.core import Block, UnknownBlockType

    slug, _, block_name = reference.partition("/")
    if not slug or not block_name:
        raise InputError(
            f"The model block:{reference} is not a block's name.",
            "Write block:TYPE/NAME, such as block:llama-cpp/my-model.",
        )
    try:
        block: Any = await Block.aload(reference)
    except (ValueError, UnknownBlockType) as error:
        raise ModelError(
            f"There is no model block:{reference}: {error}.",
            f"Create the block {block_name!r} in the Prefect UI, or see `prefect block ls`.",
        ) from None
    if not callable(getattr(block, "get_model", None)):
        raise InputError(
            f"The block {reference} is not a model.", "Name a llama-cpp or swarm-model block."
        )
    return block.get_model()
