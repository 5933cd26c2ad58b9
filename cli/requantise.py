"""`prefect-swarm requantise`: write a model file in types that this processor is fast with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..errors import InputError
from ..exit_codes import ExitCode
from ..local_extra import require_llama_cpp
from .command import AsJson
from .output.printing import print_json, print_text
from .progress.session import say

__all__ = ["requantise"]


def requantise(
    file: Annotated[Path, typer.Argument(help="A GGUF file of a model.")],
    to: Annotated[
        Literal["q8_0", "q4_0"],
        typer.Option(help="What its matrices become: q4_0 is smaller and faster, and less exact."),
    ] = "q8_0",
    output: Annotated[
        Path | None, typer.Option(help="The new file; beside the old one if none.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Write a model file anew, where llama.cpp has no fast kernels for its types here.

    The embedded model needs no such command: its first use does it. What the planner's adapter
    was made for stays valid for the new file.
    """
    require_llama_cpp()
    from ..blocks.llama.gguf import check_model_file
    from ..blocks.llama.requantised.prepared import make_requantised, requantisation_for

    source = check_model_file(file)
    path = (output or source.with_name(f"{source.stem}-{to}.gguf")).expanduser().absolute()
    if path.exists():
        raise InputError(f"{path} exists already.", "Name another file with --output.")
    if (change := requantisation_for(source, to)) is None:
        raise InputError(
            f"Requantising {source} would make nothing faster on this processor.",
            "Use the file as it is.",
        )
    say(f"Requantising {change.source} of {source} to {to}.")
    make_requantised(source, path, change)
    size = path.stat().st_size
    if as_json:
        print_json({"file": str(path), "bytes": size, "source": str(source), "to": to})
    else:
        print_text(f"{path}: {size / 1e6:.0f} MB. Use it as --model llamacpp:{path}")
    return ExitCode.COMPLETED
