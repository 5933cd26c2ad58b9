"""The local engine and llama.cpp's own server: `python benches/run.py inference`."""

from __future__ import annotations

__all__ = ["run"]


def run() -> str:
    """Measure; where the server isn't installed, say so in a line."""
    from .measure import measure
    from .server_way import has_server

    if not has_server():
        return (
            "## The local engine and llama.cpp's server\n\nNot measured: "
            "`pip install -c constraints.txt -e '.[bench-server]'` builds the server, which takes "
            "about ten minutes."
        )
    return measure()
