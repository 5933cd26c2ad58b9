"""What other packages leave open until the interpreter ends, which complains about it then."""

from __future__ import annotations

import sys

__all__ = ["close_what_was_left_open"]


def close_what_was_left_open() -> None:
    """Close llama.cpp's two null devices, which it opens at its import; call it last of all."""
    if utilities := sys.modules.get("llama_cpp._utils"):
        utilities.outnull_file.close()
        utilities.errnull_file.close()
