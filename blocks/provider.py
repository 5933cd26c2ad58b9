"""The block for a remote model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prefect.blocks.core import Block
from pydantic import Field, SecretStr, field_validator

from ..errors import InputError
from ..host.url_secrets import secret_in
from .remote import remote_model

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["ModelProvider"]


class ModelProvider(Block):
    """A model behind an API: a provider's, or any OpenAI-compatible server's.

    Example:
        Load a stored provider and put its model in a tier's place:
        ```python
        from prefect_swarm.blocks import ModelProvider

        model_provider_block = ModelProvider.load("BLOCK_NAME")
        model = model_provider_block.get_model()
        ```
    """

    _block_type_name = "Swarm Model"
    _block_type_slug = "swarm-model"
    _documentation_url = "https://ai.pydantic.dev/models/"  # pyright: ignore[reportAssignmentType]

    model: str = Field(
        title="Model",
        min_length=1,
        description="A pydantic-ai model name, or the server's own name for it where a base URL is "
        "given.",
        examples=["anthropic:claude-sonnet-4-5", "openai:gpt-5", "qwen2.5-72b-instruct"],
    )
    base_url: str | None = Field(
        default=None,
        title="Base URL",
        description="Where an OpenAI-compatible server is; empty for the provider's own address.",
        examples=["http://localhost:8000/v1"],
    )

    @field_validator("base_url")
    @classmethod
    def _has_no_secret(cls, url: str | None) -> str | None:
        # Prefect would store it in plain, and pydantic's own error would repeat it.
        if what := secret_in(url or ""):
            raise InputError(f"The base URL has {what}.", "Put the key into the block's API key.")
        return url

    api_key: SecretStr | None = Field(
        default=None,
        title="API Key",
        description="The key of the service. Empty: the provider's own hosts get the key in its "
        "environment variable, any other server none.",
    )

    def get_model(self) -> Model:
        """The model, ready for a pydantic-ai agent; nothing is sent before the first request.

        Raises:
            InputError: The name or the base URL is not valid.
            ModelError: The provider lacks a key or its package is not installed.
        """
        key = self.api_key.get_secret_value() if self.api_key else None
        return remote_model(self.model, base_url=self.base_url or None, api_key=key)
