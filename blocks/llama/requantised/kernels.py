"""Which tensor types llama.cpp multiplies fast on which processor.

Read in llama.cpp (`ggml/src/ggml-cpu/repack.cpp`, which types are interleaved when a model loads;
`ggml/src/ggml-cpu/llamafile/sgemm.cpp`, which types are multiplied in tiles), as of the autumn of
2026, about what llama-cpp-python 0.3.36 carries. Any other type is multiplied row by row.

Measured on one x86 processor with AVX-512 and VNNI, the embedded model, one thread beside other
work, processor time as a ratio to Q4_1's: a prompt of 128 tokens is read 2.5 times as fast as Q4_0,
1.7 times as Q8_0, 1.5 times as Q5_0, 0.8 times as Q5_1; eight texts at once are written 1.6, 1.2,
1.3 and 0.9 times as fast; a single text 1.2, 0.9, 0.9 and 0.9 times, for tiles need several rows.
Nothing was measured on ARM.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["Processor", "fast_types", "processor_of", "slow_types"]

Processor = Literal["x86-avx2", "x86-avx512", "arm-dotprod", "arm-i8mm", "other"]

_UNQUANTISED = frozenset({"F32", "F16", "BF16"})
# Interleaved: Q4_0, Q4_K, IQ4_NL and MXFP4. In tiles: Q4_0, Q5_0, Q8_0 and IQ4_NL.
_AVX2 = _UNQUANTISED | {"Q4_0", "Q5_0", "Q8_0", "Q4_K", "IQ4_NL", "MXFP4"}
# All interleaved, Q4_0 and Q8_0 in tiles as well.
_DOTPROD = _UNQUANTISED | {"Q4_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4"}
_FAST: dict[Processor, frozenset[str]] = {
    "x86-avx2": _AVX2,
    "x86-avx512": _AVX2 | {"Q2_K"},
    "arm-dotprod": _DOTPROD,
    "arm-i8mm": _DOTPROD,
    "other": _UNQUANTISED,
}
# The types of blocks of 32. K-quants are left alone: without an interleaved kernel they have good
# ones for a row, and Q8_0 is up to three times their size, which costs more on large models.
_ASKED_OF = frozenset({"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"})
_MEASURED: frozenset[Processor] = frozenset({"x86-avx2", "x86-avx512"})


def processor_of(features: str) -> Processor:
    """Return the kind of processor that a build of llama.cpp computes for.

    Args:
        features: What `llama_print_system_info` says, such as `CPU : AVX2 = 1 | AVX512 = 1`.
    """
    words = features.partition(":")[2].split("|")
    on = {
        name.strip() for name, _, value in (word.partition("=") for word in words) if "1" in value
    }
    if "AVX2" in on:
        return "x86-avx512" if "AVX512" in on else "x86-avx2"
    if "DOTPROD" in on:
        return "arm-i8mm" if "MATMUL_INT8" in on else "arm-dotprod"
    return "other"


def fast_types(processor: Processor) -> frozenset[str]:
    """Return the names of the types with a kernel that multiplies several rows at a time."""
    return _FAST[processor]


def slow_types(processor: Processor) -> frozenset[str]:
    """Return the types that are better requantised; none where that was never measured."""
    if processor not in _MEASURED:
        return frozenset()
    return _ASKED_OF - fast_types(processor)
