"""Where settings come from: the environment, and Prefect's files where those say anything.

Importing Prefect takes 0.8 s, most of what a short command takes. So Prefect is asked only where it
is loaded already, or where one of its files might name a setting of ours.
"""

from __future__ import annotations

import os
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["PREFIX", "prefect_home", "settings_given"]

PREFIX = "prefect_integrations_swarm_"
_HOME = "prefect_home"
_PROFILES = "prefect_profiles_path"
# With these Prefect reads other files than it otherwise does.
_TESTING = ("prefect_test", "prefect_unit_test", "prefect_testing")


def settings_given(names: tuple[str, ...]) -> dict[str, Any]:
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
    from pydantic import create_model

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
