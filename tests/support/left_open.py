"""Files that other packages leave open, of which the interpreter warns when it ends."""

from __future__ import annotations

import sys

__all__ = ["close_leaked_files"]


def close_leaked_files() -> None:
    """Close llama.cpp's two null devices, which it opens at its import; call it last of all."""
    if utilities := sys.modules.get("llama_cpp._utils"):
        utilities.outnull_file.close()
        utilities.errnull_file.close()
