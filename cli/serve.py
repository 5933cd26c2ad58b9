"""`prefect-swarm serve`: a local model for other programs and machines."""

from __future__ import annotations

from typing import Annotated

import typer

from ..local_extra import require_llama_cpp
from ..text import visible
from .progress.session import say

__all__ = ["serve"]


def serve(
    model: Annotated[
        str, typer.Option(help="GGUF file of a model tuned for chat, or demo for the embedded one.")
    ] = "demo",
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than this machine's needs a key.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8090,
    key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the key that clients have to send."),
    ] = None,
    n_ctx: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of a request with its answer; by file and memory."),
    ] = None,
    n_slots: Annotated[
        int | None,
        typer.Option(min=1, help="Requests computed together; by file, memory and speed."),
    ] = None,
    n_threads: Annotated[
        int | None, typer.Option(min=1, help="Threads that compute; all cores if not given.")
    ] = None,
) -> int:
    """Serve a local model by OpenAI's API until Ctrl-C.

    Any client of that API can use it: POST /v1/chat/completions, GET /v1/models, /health and
    /metrics. Runs on this machine that name the same file use it, too, instead of loading it.
    """
    import asyncio

    from ..blocks.llama import (
        EngineConfig,
        check_model_file,
        demo_model_path,
        engine_config_for,
    )
    from ..blocks.llama.slot_speeds.table import measure_if_due
    from ..serve.server import serve_model

    demo = model == "demo"
    require_llama_cpp(demo=demo)
    path = check_model_file(demo_model_path() if demo else model)
    if n_slots is None:
        measure_if_due(path, EngineConfig(n_threads=n_threads), say)
    config = engine_config_for(path, n_ctx=n_ctx, n_slots=n_slots, n_threads=n_threads)
    names = (path.stem, "demo") if demo else (path.stem, model)

    def ready(address: str) -> None:
        typer.echo(visible(f"Serving {path.stem} at {address}/v1 (Ctrl-C ends it)"), err=True)

    asyncio.run(
        serve_model(path, config, names, host=host, port=port, key_variable=key_env, ready=ready)
    )
    return 0
