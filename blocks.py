"""The Prefect blocks that a person configures: models, servers of tools, policies, options.

A block stores and checks fields; `models` and `toolsets` do the work. Names of fields are part of
documents on users' servers: to rename one breaks stored blocks. Keys are `SecretStr`.

Prefect imports this module when it starts (entry point `prefect.collections`), so its imports must
be light.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from prefect.blocks.core import Block
from pydantic import AfterValidator, Field, SecretStr, WithJsonSchema, field_validator

from .errors import InputError
from .flows.deployed_options import form_of_options
from .flows.options import SwarmOptions, checked_options
from .flows.shared_options import OPTIONS_BLOCK, POLICY_BLOCK, check_shared_options
from .host.secrets import secret_in
from .host.system import require_llama_cpp
from .models.remote import remote_model
from .models.resolve import override_models, resolve_model
from .store.failure_policy import Policy

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = [
    "FailurePolicy",
    "LlamaCpp",
    "McpServer",
    "ModelProvider",
    "SharedOptions",
    "override_models",
    "resolve_model",
]


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
    takes_pictures: bool | None = Field(
        default=None,
        title="Takes Pictures",
        description="Whether the model is shown pictures; empty for what is known of its name.",
    )

    def get_model(self) -> Model:
        """The model, ready for a pydantic-ai agent; nothing is sent before the first request.

        Raises:
            InputError: The name or the base URL is not valid.
            ModelError: The provider lacks a key or its package is not installed.
        """
        key = self.api_key.get_secret_value() if self.api_key else None
        return remote_model(
            self.model,
            base_url=self.base_url or None,
            api_key=key,
            takes_pictures=self.takes_pictures,
        )


class LlamaCpp(Block):
    """A model in a GGUF file, run by llama.cpp inside the worker's own process.

    Where `prefect-swarm serve` serves the file on that machine, its process runs it instead.

    Example:
        Load a stored model and put it in a tier's place:
        ```python
        from prefect_swarm.blocks import LlamaCpp

        llama_cpp_block = LlamaCpp.load("BLOCK_NAME")
        model = llama_cpp_block.get_model()
        ```
    """

    _block_type_name = "Llama.cpp Model"
    _block_type_slug = "llama-cpp"
    _documentation_url = "https://github.com/ggml-org/llama.cpp"  # pyright: ignore[reportAssignmentType]

    model_path: str = Field(
        default="demo",
        title="Model Path",
        min_length=1,
        description="Path of a GGUF file on the machine that runs the flow, or `demo` for the "
        "embedded SmolLM2-135M.",
        examples=["/models/qwen2.5-7b-instruct-q4_k_m.gguf"],
    )
    n_ctx: int | None = Field(
        default=None,
        ge=1,
        title="Context Window",
        description="Tokens a request may have, prompt and answer together; empty for what the "
        "file was trained for and memory allows. Memory is reserved for this times the parallel "
        "requests.",
    )
    n_threads: int | None = Field(
        default=None,
        ge=1,
        title="Threads",
        description="Threads that compute, always as many; empty for all the cores the process may "
        "use, and fewer while something else computes.",
    )
    n_slots: int | None = Field(
        default=None,
        ge=1,
        title="Parallel Requests",
        description="The most requests that are computed together; more of them wait in line. "
        "Empty for as many as this machine gains from, 4 where that was not measured, or fewer "
        "where memory is short for the file.",
    )
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        title="Maximum Output Tokens",
        description="The most tokens of an answer where the step doesn't say; empty for what "
        "suits the file's context.",
    )
    temperature: float | None = Field(
        default=None,
        ge=0,
        title="Temperature",
        description="How freely tokens are chosen; 0 always takes the likeliest, empty is 0.2.",
    )
    n_gpu_layers: int | None = Field(
        default=None,
        ge=0,
        title="GPU Layers",
        description="Layers that a GPU holds and computes; empty for all of them where llama.cpp "
        "was built with GPU support, and none elsewhere.",
    )
    cache_type: Literal["f16", "q8_0", "q4_0"] | None = Field(
        default=None,
        title="Cache Type",
        description="How the context's cache is kept: q8_0 takes about half of the memory of f16, "
        "q4_0 about a quarter, and both are less exact. Empty for f16.",
    )
    keep_loaded: bool = Field(
        default=False,
        title="Keep Loaded",
        description="Unload other models before this one where memory is short for all.",
    )
    deterministic: bool = Field(
        default=False,
        title="Deterministic",
        description="Compute each answer independently of other requests, before and in parallel; "
        "it takes a fifth to a third longer.",
    )
    planner_adapter: str = Field(
        default="default",
        title="Planner's Adapter",
        min_length=1,
        description="LoRA adapter that this model writes plans with, and nothing else: `default` "
        "for the one that comes with the package if it fits the model, `none`, or the path of a "
        "GGUF file.",
    )

    def get_model(self) -> Model:
        """The model, ready for a pydantic-ai agent; its file loads at the first request.

        Raises:
            InputError: llama.cpp is not installed.
            ModelError: The model file or the adapter is missing or not valid.
        """
        from pydantic_ai.settings import ModelSettings

        from .models.llama.gguf import demo_model_path
        from .models.llama.limits import engine_config_for
        from .models.llama.model import LlamaCppModel

        require_llama_cpp(demo=self.model_path == "demo")
        path = demo_model_path() if self.model_path == "demo" else self.model_path
        settings = ModelSettings()
        if self.max_tokens is not None:
            settings["max_tokens"] = self.max_tokens
        if self.temperature is not None:
            settings["temperature"] = self.temperature
        return LlamaCppModel(
            path,
            config=engine_config_for(
                path,
                n_ctx=self.n_ctx,
                n_slots=self.n_slots,
                n_threads=self.n_threads,
                n_gpu_layers=self.n_gpu_layers,
                cache_type=self.cache_type,
                keep_loaded=self.keep_loaded,
                deterministic=self.deterministic,
            ),
            settings=settings,
            planner_adapter=self._planner_adapter(),
        )

    def _planner_adapter(self) -> Literal["default"] | Path | None:
        if self.planner_adapter == "default":
            return "default"
        return None if self.planner_adapter == "none" else Path(self.planner_adapter)


class McpServer(Block):
    """An MCP server whose tools agents may have; a run takes it by `mcp="block:mcp-server/NAME"`.

    Example:
        Load a stored server and give its tools to a run:
        ```python
        from prefect_swarm.blocks import McpServer

        mcp_server_block = McpServer.load("BLOCK_NAME")
        entry = mcp_server_block.get_entry()
        ```
    """

    _block_type_name = "MCP Server"
    _block_type_slug = "mcp-server"
    _documentation_url = "https://modelcontextprotocol.io/docs"  # pyright: ignore[reportAssignmentType]

    command: str = Field(
        default="",
        title="Command",
        description="The program of a server that runs as a process; empty for one at a URL.",
        examples=["mcp-server-time", "uvx", "npx"],
    )
    args: list[str] = Field(
        default_factory=list[str], title="Arguments", description="The program's arguments."
    )
    env: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr],
        title="Environment",
        description="Environment variables of the process, in addition to PATH, HOME and the like.",
    )
    cwd: str | None = Field(
        default=None, title="Folder", description="The folder that the process starts in."
    )
    url: str = Field(
        default="",
        title="URL",
        description="The address of a server; empty for a process.",
        examples=["https://tools.example.com/mcp"],
    )
    sse: bool = Field(
        default=False,
        title="SSE",
        description="The URL is that of an older server, which speaks SSE and no streamable HTTP.",
    )
    headers: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr],
        title="Headers",
        description="Headers of each request to the URL, such as Authorization.",
    )
    description: str = Field(
        default="", title="Description", description="What its tools are good for, in a sentence."
    )
    idempotent: list[str] = Field(
        default_factory=list[str],
        title="Idempotent Tools",
        description="Tools of which a call that may have been made already may be made again.",
    )
    acting: list[str] | None = Field(
        default=None,
        title="Acting Tools",
        description="Tools that change something outside the run; others of which the server says "
        "nothing then don't. Empty: what the server says, and all of which it says nothing.",
    )

    def get_entry(self) -> dict[str, Any]:
        """Return it as an entry of `mcpServers`, secrets in plain."""
        entry = {
            "command": self.command,
            "args": self.args,
            "env": _plain(self.env),
            "cwd": self.cwd,
            "url": self.url,
            "type": "sse" if self.url and self.sse else "",
            "headers": _plain(self.headers),
            "description": self.description,
        }
        marks = {"idempotent": self.idempotent, "acting": self.acting}
        return {key: value for key, value in entry.items() if value} | {"swarm": marks}


def _plain(secrets: dict[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in secrets.items()}


class FailurePolicy(Block):
    """What the failures of a swarm's steps lead to; a run takes it by its option `policy_block`.

    Example:
        Load a stored policy and run with it:
        ```python
        from prefect_swarm.blocks import FailurePolicy

        failure_policy_block = FailurePolicy.load("BLOCK_NAME")
        policy = failure_policy_block.get_policy()
        ```
    """

    _block_type_name = "Failure Policy"
    _block_type_slug = POLICY_BLOCK
    _documentation_url = "https://docs.prefect.io/v3/concepts/blocks"  # pyright: ignore[reportAssignmentType]

    policy: Policy = Field(
        default_factory=Policy,
        title="Policy",
        description="The table and its bounds.",
    )

    def get_policy(self) -> Policy:
        """Return the table."""
        return self.policy


class SharedOptions(Block):
    """Options that people share: models, bounds, gates and the rest; see `options_block` of a run.

    They hold where neither the deployment nor the run says otherwise. Of tiers, gates, tool limits
    and other maps each name counts alone.

    Example:
        Load stored options, and run with them and with another bound:
        ```python
        from prefect_swarm import SharedOptions, SwarmOptions, swarm_sync

        shared_options_block = SharedOptions.load("BLOCK_NAME")
        print(shared_options_block.get_options().model)

        options = SwarmOptions(options_block="BLOCK_NAME", max_usd=0.5)
        print(swarm_sync("Compare tea and coffee", options=options).answer)
        ```
    """

    _block_type_name = "Swarm Options"
    _block_type_slug = OPTIONS_BLOCK
    _documentation_url = "https://docs.prefect.io/v3/concepts/blocks"  # pyright: ignore[reportAssignmentType]

    options: Annotated[
        dict[str, Any],
        AfterValidator(check_shared_options),
        WithJsonSchema(form_of_options(folded="Not set", without="options_block")),
    ] = Field(
        default_factory=dict[str, Any],
        title="Options",
        description="What runs have that name this block; what is empty is as it is without it.",
    )

    def get_options(self) -> SwarmOptions:
        """Return them, with the defaults of those that aren't set."""
        return checked_options(self.options)
