"""Which engines compute with weights that an adapter was added to. It loads nothing."""

from __future__ import annotations

from pathlib import Path

from ....errors import ModelError
from ....settings import SwarmSettings
from ..adapter import check_base, planner_adapter
from ..gguf import is_demo_model

__all__ = ["may_be_merged"]


def may_be_merged(source: Path, adapter: Path | None) -> bool:
    """Whether a file and its adapter may be computed with as a single file.

    That is so for the embedded model and the adapter that it plans with by default, unless the
    setting `requantise` is `off`: every such file takes its own disk and memory.
    """
    if adapter is None or not is_demo_model(source) or SwarmSettings().requantise == "off":
        return False
    try:
        check_base(adapter, source)
        return planner_adapter(source) == adapter.resolve()
    except ModelError:
        return False  # What is wrong with it is said where it is loaded.
