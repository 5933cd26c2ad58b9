"""Requantising a model file by llama.cpp. Import it late: it loads the shared library."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from ...errors import ModelError
from . import library as logs
from .api import usable_cores
from .gguf import SOURCE
from .library import lib
from .requantised import Processor, Target, processor_of

__all__ = ["processor", "quantise"]


_FTYPES: dict[Target, int] = {
    "q8_0": lib.LLAMA_FTYPE_MOSTLY_Q8_0,
    "q4_0": lib.LLAMA_FTYPE_MOSTLY_Q4_0,
}


def processor() -> Processor:
    """Return the kind of processor that this build of llama.cpp computes for."""
    return processor_of(lib.llama_print_system_info().decode())


def quantise(source: Path, to: Path, target: Target, source_hash: str) -> None:
    """Write a model file anew with all matrices in the target's type.

    The hash of the source stands in the new file's header, so that an adapter which was made for
    the source is known to fit.

    Raises:
        ModelError: llama.cpp can't, or the disk is full.
    """
    logs.install()
    lib.llama_backend_init()
    logs.clear_errors()
    # What isn't filled in ends the list.
    overrides: Any = (lib.llama_model_kv_override * 2)()
    overrides[0].tag = lib.LLAMA_KV_OVERRIDE_TYPE_STR
    overrides[0].key = SOURCE.encode()
    overrides[0].value.val_str = source_hash.encode()
    params: Any = lib.llama_model_quantize_default_params()
    params.ftype = _FTYPES[target]
    params.allow_requantize = True
    params.nthread = usable_cores()
    params.kv_overrides = ctypes.cast(overrides, ctypes.POINTER(lib.llama_model_kv_override))
    if lib.llama_model_quantize(str(source).encode(), str(to).encode(), params):
        raise ModelError(
            f"llama.cpp can't requantise {source}: {logs.first_error()}.",
            "Use the file as it is.",
        )
