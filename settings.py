"""Settings of the package, read as Prefect's own are: environment, `prefect.toml`, profile."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from prefect.settings import get_current_settings
from prefect.settings.base import PrefectBaseSettings, build_settings_config
from pydantic import Field

__all__ = ["SwarmSettings", "home"]


class SwarmSettings(PrefectBaseSettings):
    """Set by `PREFECT_INTEGRATIONS_SWARM_…` variables."""

    model_config = build_settings_config(("integrations", "swarm"))

    home: Path | None = Field(
        default=None,
        description="Folder for runs and memory; `swarm` in Prefect's home if not set.",
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
    cancel_poll_s: float = Field(
        default=5.0,
        gt=0,
        description="Seconds between two looks at whether the server has cancelled a run.",
    )


def home() -> Path:
    """Return the folder that runs and memory lie in; it may not exist yet."""
    return SwarmSettings().home or get_current_settings().home / "swarm"
