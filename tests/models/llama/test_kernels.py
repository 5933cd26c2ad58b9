"""Slow types follow from the processor alone."""

from __future__ import annotations

import pytest
from prefect_swarm.models.llama.requantised import Processor, fast_types, processor_of, slow_types


@pytest.mark.parametrize(
    ("features", "processor"),
    [
        ("CPU : SSE3 = 1 | AVX = 1 | AVX2 = 1 | FMA = 1 | REPACK = 1 | ", "x86-avx2"),
        ("CPU : AVX2 = 1 | AVX512 = 1 | AVX512_VNNI = 1 | ", "x86-avx512"),
        ("CPU : AVX2 = 0 | AVX512 = 0 | ", "other"),
        ("CPU : NEON = 1 | ARM_FMA = 1 | DOTPROD = 1 | ", "arm-dotprod"),
        ("CPU : NEON = 1 | MATMUL_INT8 = 1 | DOTPROD = 1 | ", "arm-i8mm"),
        ("CPU : SSE3 = 1 | ", "other"),
        ("", "other"),
    ],
)
def test_the_processor_follows_from_what_llama_cpp_was_built_for(
    features: str, processor: Processor
) -> None:
    assert processor_of(features) == processor


@pytest.mark.parametrize(
    ("processor", "slow"),
    [
        ("x86-avx2", {"Q4_1", "Q5_1"}),
        ("x86-avx512", {"Q4_1", "Q5_1"}),
        ("arm-dotprod", set[str]()),
        ("arm-i8mm", set[str]()),
        ("other", set[str]()),
    ],
)
def test_a_type_is_slow_only_where_that_was_measured(processor: Processor, slow: set[str]) -> None:
    assert slow_types(processor) == slow


@pytest.mark.parametrize("processor", ["x86-avx2", "x86-avx512", "arm-dotprod", "arm-i8mm"])
def test_both_targets_are_fast_on_every_known_processor(processor: Processor) -> None:
    assert {"Q8_0", "Q4_0"} <= fast_types(processor)
