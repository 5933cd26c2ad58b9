"""The llama.cpp library, loaded so that idle threads soon sleep."""

from __future__ import annotations

from ...openmp import sleeping_threads

with sleeping_threads():
    import llama_cpp.llama_cpp as lib

__all__ = ["lib"]
