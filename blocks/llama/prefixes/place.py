"""Where the shared beginnings of a model's prompts are stored."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from ..api import EngineConfig
from .folder import PrefixFolder

__all__ = ["stored_prefixes"]


def stored_prefixes(
    path: Path, config: EngineConfig, *, merged: bool = False
) -> PrefixFolder | None:
    """Return the stored beginnings of a model that is served so; None if the setting says none.

    What was computed in another way, or by another llama.cpp, has a folder of its own.

    Args:
        path: The model file.
        config: How it is served.
        merged: Whether its adapter is in the weights instead of being applied.
    """
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from ....settings import SwarmSettings, home

    settings = SwarmSettings()
    if not settings.prefix_store_mb:
        return None
    # How many there are at once changes nothing of what is computed for each.
    served = replace(config, n_slots=1, n_threads=None, n_ctx=1, seed=0, keep_loaded=False)
    files = [_identity(file) for file in (path, config.adapter) if file is not None]
    parts = [version("llama-cpp-python"), settings.requantise, *files, repr(served)]
    parts += ["merged"] * merged
    name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    return PrefixFolder(home() / "prefixes" / name, settings.prefix_store_mb << 20)


def _identity(path: Path) -> str:
    stat = path.stat()
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"
