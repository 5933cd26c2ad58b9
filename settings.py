"""Settings of the package, read as Prefect's own are: environment, `prefect.toml`, profile."""

from __future__ import annotations

import os
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import Field, ValidationError, create_model

from .data_types import Frozen
from .errors import InputError, ServerError
from .files import HOME_VARIABLE
from .host.secrets import MASK, masked_urls

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = [
    "PREFIX",
    "SwarmSettings",
    "configured_settings",
    "default_model",
    "home",
    "home_variable",
    "prefect_home",
    "read_block",
    "read_secret_block",
]


PREFIX = "prefect_integrations_swarm_"
_HOME = "prefect_home"
_PROFILES = "prefect_profiles_path"
# With these Prefect reads other files than it otherwise does.
_TESTING = ("prefect_test", "prefect_unit_test", "prefect_testing")


def configured_settings(names: tuple[str, ...]) -> dict[str, Any]:
    """Return those of these settings that are given anywhere."""
    if _asks_prefect():
        return _of_prefect(names)
    found = {name: os.environ.get(f"{PREFIX}{name}".upper()) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def prefect_home() -> Path:
    """Return Prefect's own folder."""
    if _asks_prefect():
        from prefect.settings import get_current_settings

        return get_current_settings().home
    return _home_by_environment()


def _home_by_environment() -> Path:
    return Path(os.environ.get(_HOME.upper()) or Path("~") / ".prefect").expanduser()


def _of_prefect(names: tuple[str, ...]) -> dict[str, Any]:
    read = _source(names)()
    return {name: value for name in names if (value := getattr(read, name)) is not None}


@cache
def _source(names: tuple[str, ...]) -> type[BaseModel]:
    """The settings as Prefect reads them: it does so for each instance."""
    from prefect.settings.base import PrefectBaseSettings, build_settings_config

    fields: dict[str, Any] = dict.fromkeys(names, (Any, None))
    base = type(
        "SwarmSettingsSource",
        (PrefectBaseSettings,),
        {"model_config": build_settings_config(("integrations", "swarm")), "__module__": __name__},
    )
    return create_model("SwarmSettingsOfPrefect", __base__=cast("Any", base), **fields)


def _asks_prefect() -> bool:
    return "prefect" in sys.modules or _is_unusual() or any(map(_may_say, _files()))


def _is_unusual() -> bool:
    """Whether the environment has one of our names in a spelling that only Prefect knows of."""
    for name, value in os.environ.items():
        lower = name.lower()
        if lower.startswith(_TESTING):
            return True
        ours = lower.startswith(PREFIX) or lower in (_HOME, _PROFILES)
        if ours and (name != name.upper() or not value):
            return True
    return False


def _files() -> list[Path]:
    profiles = os.environ.get(_PROFILES.upper()) or _home_by_environment() / "profiles.toml"
    return [Path(".env"), Path("prefect.toml"), Path("pyproject.toml"), Path(profiles)]


def _may_say(path: Path) -> bool:
    """Whether a file might name one of our settings, Prefect's home or its profiles."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True  # Prefect says what is wrong.
    if path.name in ("prefect.toml", "pyproject.toml"):
        return _table_says(path.name, data)
    lower = data.lower()
    return any(name.encode() in lower for name in (PREFIX, _HOME, _PROFILES))


def _table_says(name: str, data: bytes) -> bool:
    try:
        table: dict[str, Any] = tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        return True  # Prefect says what is wrong.
    if name == "pyproject.toml":
        table = table.get("tool", {}).get("prefect", {})
    return not {"home", "profiles_path", "integrations"}.isdisjoint(table)


class SwarmSettings(Frozen):
    """Set by `PREFECT_INTEGRATIONS_SWARM_…` variables; `SwarmSettings()` reads them.

    Raises:
        InputError: A value isn't allowed; says which setting.
    """

    home: Path | None = Field(
        default=None,
        description="Folder for runs and memory; `swarm` in Prefect's home if not set.",
    )
    model: str = Field(
        default="demo",
        min_length=1,
        description="Model of a run that names none, such as `openai:gpt-5`.",
    )
    memory: str | None = Field(
        default=None,
        description=(
            "Address of the PostgreSQL server that holds the memory, for deployments on several "
            "machines; a file in `home` if not set."
        ),
    )
    store: str | None = Field(
        default=None,
        pattern=r"^(postgres(ql)?://|block:secret/[a-z0-9-]+$)",
        repr=False,
        description=(
            "Address of the PostgreSQL server that runs are stored in, `postgresql://…`, so that "
            "every machine with it can go on with any run, or `block:secret/NAME`, a Secret block "
            "that has it; the folder `home` if not set."
        ),
    )
    sandbox: Literal["strict", "limits-only"] = Field(
        default="strict",
        description=(
            "`strict`: what a model wrote runs isolated or not at all. `limits-only`: it runs with "
            "limits on time, memory and output, but sees this user's files and the network."
        ),
    )
    model_memory_gb: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description=(
            "Gigabytes that all loaded local models may take together; by default what is free "
            "when the first one is asked for, less a reserve."
        ),
    )
    cancel_poll_s: float = Field(
        default=5.0,
        gt=0,
        description="Seconds between two looks at whether the server has cancelled a run.",
    )
    heartbeat_s: float = Field(
        default=30.0,
        gt=0,
        description=(
            "Seconds between two events by which a run says on the server that its process is "
            "alive; automations wait for them."
        ),
    )
    served_models: bool = Field(
        default=True,
        description=(
            "Whether a model file that `prefect-swarm serve` serves on this machine is asked "
            "there, instead of being loaded again."
        ),
    )
    prefix_store_mb: int = Field(
        default=512,
        ge=0,
        description=(
            "Megabytes of `home` for what a local model has computed for beginnings that several "
            "prompts share, for each way in which a file is served; 0 for none."
        ),
    )
    trace_content: Literal["off", "on"] = Field(
        default="off",
        description=(
            "`on`: spans that are exported have prompts, answers and the messages of errors too. "
            "`off`: they have names, ids, counts and kinds of failures."
        ),
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**{**configured_settings(tuple(type(self).model_fields)), **values})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = f"{PREFIX}{first['loc'][0]}".upper()
            raise InputError(
                f"The setting {name} is {_shown(first['input'])}: {first['msg']}.",
                "Set it to what it may be, or unset it.",
            ) from None


def _shown(value: object) -> str:
    """Write a value without secrets: a password may also stand in what is no address."""
    text = repr(value)
    return MASK if "@" in text and "://" not in text else masked_urls(text)


def home() -> Path:
    """Return the folder that runs and memory lie in; it may not exist yet."""
    return SwarmSettings().home or prefect_home() / "swarm"


def home_variable() -> str:
    """Return the variable that names another folder than `home()`.

    Where none is named, Prefect's own files lie in the same place, and need another one as well.
    """
    return "PREFECT_HOME" if SwarmSettings().home is None else HOME_VARIABLE


def read_secret_block(reference: str) -> str:
    """Return the text that a Secret block of the Prefect server has.

    Args:
        reference: `block:secret/NAME`.

    Raises:
        InputError: There is none, it has no text, or no server is configured.
        ServerError: The server can't be asked.
    """
    value = read_block("secret", reference.partition("/")[2]).get("value")
    if not isinstance(value, str):
        raise InputError(f"{reference} has no text.", "Give the block a text as its value.")
    return value


def read_block(slug: str, name: str) -> dict[str, Any]:
    """Return the fields of a block of the Prefect server, secrets in plain.

    Raises:
        InputError: There is none, or no server is configured.
        ServerError: The server can't be asked.
    """
    import httpx
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
    from prefect.settings import get_current_settings

    reference = f"block:{slug}/{name}"
    address = get_current_settings().api.url
    if address is None:
        raise InputError(
            f"{reference} is a block of a Prefect server, and no server is set.",
            "Set PREFECT_API_URL to its address.",
        )
    try:
        with get_client(sync_client=True) as client:
            return client.read_block_document_by_name(name, slug, include_secrets=True).data
    except ObjectNotFound:
        raise InputError(
            f"There is no {reference} on the Prefect server at {masked_urls(address)}.",
            f"Create it: prefect block create {slug}, with the name {name}.",
        ) from None
    except (httpx.HTTPError, PrefectHTTPStatusError, RuntimeError) as error:
        raise ServerError(
            f"{reference} can't be read from the Prefect server at {masked_urls(address)}: "
            f"{type(error).__name__}.",
            "Check that the server runs, and its login.",
        ) from None


def default_model() -> str:
    """Return the model of runs that name none.

    Options are made where modules are imported: a wrong value of another setting is not an error
    here.
    """
    field = SwarmSettings.model_fields["model"]
    return configured_settings(("model",)).get("model") or field.default
