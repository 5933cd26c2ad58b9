"""What training needs beyond the package itself."""

from __future__ import annotations

from importlib.util import find_spec

from ...errors import InputError
from ...local_extra import require_llama_cpp

__all__ = ["require_extra"]

_NEEDED = ("torch", "gguf")


def require_extra() -> None:
    """Say what of the extras `train` and `local` is missing, before an import fails somewhere deep.

    Raises:
        InputError: Something is.
    """
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise InputError(
            f"Training needs {' and '.join(missing)}, which is not installed.",
            "Run: pip install 'prefect-swarm[train]'",
        )
    require_llama_cpp()
