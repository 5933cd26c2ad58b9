"""The extra `eval`: pydantic-evals, which runs the cases."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import InputError

__all__ = ["require_pydantic_evals"]


def require_pydantic_evals() -> None:
    """Say what to install where pydantic-evals is missing, before an import fails; loads nothing.

    Raises:
        InputError: It is missing.
    """
    if find_spec("pydantic_evals") is None:
        raise InputError(
            "Evaluations need pydantic-evals.", "Type: pip install 'prefect-swarm[eval]'"
        )
