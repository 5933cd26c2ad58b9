"""The extra `local`: llama.cpp, which is compiled where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import InputError

__all__ = ["require_llama_cpp"]


def require_llama_cpp(*, demo: bool = False) -> None:
    """Say what to install where llama.cpp is missing, before an import fails; loads nothing.

    Args:
        demo: Whether it is for the embedded model, which an extra of its own brings along.

    Raises:
        InputError: It is missing.
    """
    if find_spec("llama_cpp") is not None:
        return
    fix = "Type: pip install 'prefect-swarm[local]'"
    if demo:
        fix = (
            "Type: pip install 'prefect-swarm[demo]', or name another model: --model openai:NAME, "
            "or for all runs PREFECT_INTEGRATIONS_SWARM_MODEL=openai:NAME"
        )
    raise InputError("Local models need llama.cpp.", fix)
