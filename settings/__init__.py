"""Settings of the package, read as Prefect's own are: environment, `prefect.toml`, profile.

Also whether the data folder can be used (`data_folder`). Nothing of it needs Prefect.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from ..errors import InputError
from ..files import HOME_VARIABLE
from ..frozen import Frozen
from ..host.url_secrets import masked_urls
from .sources import PREFIX, prefect_home, settings_given

__all__ = ["SwarmSettings", "default_model", "home", "home_variable"]


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
            "Gigabytes that all loaded local models may take together; what is free when the first "
            "is asked for, but for a reserve, if not set."
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
    requantise: Literal["auto", "off"] = Field(
        default="auto",
        description=(
            "`auto`: the embedded model is computed with in the form that the processor has fast "
            "kernels for, and plans with its adapter added to that, each made once in `home`. "
            "`off`: as its file is."
        ),
    )
    measure_slots: Literal["auto", "off"] = Field(
        default="auto",
        description=(
            "`auto`: how many requests a local model computes at once follows from the memory and "
            "from a measured table, renewed every 30 days. `off`: from the memory alone."
        ),
    )

    trace_content: Literal["off", "on"] = Field(
        default="off",
        description=(
            "`on`: spans that are exported have prompts, answers and the messages of errors too. "
            "`off`: they have names, ids, counts and kinds of failures."
        ),
    )

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**{**settings_given(tuple(type(self).model_fields)), **given})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = f"{PREFIX}{first['loc'][0]}".upper()
            raise InputError(
                f"The setting {name} is {masked_urls(repr(first['input']))}: {first['msg']}.",
                "Set it to what it may be, or unset it.",
            ) from None


def home() -> Path:
    """Return the folder that runs and memory lie in; it may not exist yet."""
    return SwarmSettings().home or prefect_home() / "swarm"


def home_variable() -> str:
    """Return the variable that names another folder than `home()`.

    Where none is named, Prefect's own files lie in the same place, and need another one as well.
    """
    return "PREFECT_HOME" if SwarmSettings().home is None else HOME_VARIABLE


def default_model() -> str:
    """Return the model of runs that name none.

    Options are made where modules are imported: a wrong value of another setting is no error here.
    """
    field = SwarmSettings.model_fields["model"]
    return settings_given(("model",)).get("model") or field.default
