"""A model's context follows from its shape and the memory that is free."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.sizing import (
    ModelShape,
    Sizing,
    best_slots,
    profile_of,
    shape_of,
    sizing_of,
    tokens_per_second,
)

GIB = 2**30
# Of models as they are published; sizes are those of 4-bit files.
SMOLLM2_135M = {
    "llama.context_length": 8192,
    "llama.block_count": 30,
    "llama.embedding_length": 576,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
}
QWEN3_4B = {
    "qwen3.context_length": 40_960,
    "qwen3.block_count": 36,
    "qwen3.embedding_length": 2560,
    "qwen3.attention.head_count": 32,
    "qwen3.attention.head_count_kv": 8,
    "qwen3.attention.key_length": 128,
    "qwen3.attention.value_length": 128,
}
LLAMA_8B = ModelShape(131_072, 131_072)
LLAMA_70B = ModelShape(131_072, 327_680)
TINY = ModelShape(1000, 23_040)
MAMBA = ModelShape(1_048_576, 0)


@pytest.mark.parametrize(
    ("architecture", "numbers", "shape"),
    [
        ("llama", SMOLLM2_135M, (8192, 2 * 30 * 3 * 64 * 2)),
        ("qwen3", QWEN3_4B, (40_960, 2 * 36 * 8 * 128 * 2)),
        ("qwen3", QWEN3_4B | {"qwen3.attention.value_length": 64}, (40_960, 36 * 8 * 192 * 2)),
        ("llama", SMOLLM2_135M | {"llama.attention.head_count_kv": 0}, (8192, 2 * 30 * 576 * 2)),
        ("llama", SMOLLM2_135M | {"llama.attention.head_count_kv": -1}, (8192, 2 * 30 * 576 * 2)),
        (
            "mamba",
            {"mamba.context_length": 9, "mamba.block_count": 4, "mamba.embedding_length": 8},
            (9, 0),
        ),
    ],
    ids=["demo", "wide heads", "narrow values", "no groups", "damaged", "recurrent"],
)
def test_a_shape_is_read_from_the_architectures_numbers(
    architecture: str, numbers: dict[str, int], shape: tuple[int, int]
) -> None:
    assert shape_of(architecture, numbers) == shape


@pytest.mark.parametrize("missing", ["context_length", "block_count", "embedding_length"])
def test_a_file_that_llama_cpp_refuses_has_no_shape(missing: str) -> None:
    numbers = {key: value for key, value in SMOLLM2_135M.items() if not key.endswith(missing)}
    assert shape_of("llama", numbers) is None


def test_another_architectures_numbers_do_not_count() -> None:
    assert shape_of("qwen3", SMOLLM2_135M) is None


@pytest.mark.parametrize(
    ("shape", "weights", "free", "n_ctx", "n_slots"),
    [
        (LLAMA_8B, 5, 128, 32_768, 4),
        (LLAMA_8B, 5, 23, 12_288, 4),
        (LLAMA_8B, 5, 17, 8192, 4),
        (LLAMA_8B, 5, 16, 9984, 3),
        (LLAMA_8B, 5, 10, 13_568, 1),
        (LLAMA_8B, 5, 7, 5376, 1),
        (LLAMA_8B, 5, 5, 2048, 1),
        (LLAMA_8B, 5, 2, 2048, 1),
        (LLAMA_70B, 42, 64, 11_776, 2),
        (LLAMA_70B, 42, 512, 32_768, 4),
        (TINY, 1, 16, 1000, 16),
        (TINY, 1, 1, 1000, 1),
        (MAMBA, 1, 1, 32_768, 16),
    ],
)
def test_the_context_follows_from_the_memory_that_is_free(
    shape: ModelShape, weights: int, free: int, n_ctx: int, n_slots: int
) -> None:
    assert sizing_of(shape, weights * GIB, free * GIB) == (n_ctx, n_slots)


@pytest.mark.parametrize(
    ("given_ctx", "given_slots", "n_ctx", "n_slots"),
    [
        (4096, None, 4096, 8),
        (32_768, None, 32_768, 1),
        (None, 1, 32_768, 1),
        (None, 8, 6144, 8),
        (100, 100, 100, 100),
    ],
)
def test_what_is_given_is_taken_and_the_rest_follows_from_it(
    given_ctx: int | None, given_slots: int | None, n_ctx: int, n_slots: int
) -> None:
    sizing = sizing_of(LLAMA_8B, 5 * GIB, 23 * GIB, n_ctx=given_ctx, n_slots=given_slots)
    assert sizing == (n_ctx, n_slots)


ALL = {1: 10.0, 2: 20.0, 4: 30.0, 8: 40.0, 16: 50.0}


@pytest.mark.parametrize(
    ("speeds", "free", "n_ctx", "n_slots"),
    [
        (ALL, 500, 32_768, 16),
        (ALL, 110, 32_768, 8),
        (ALL, 23, 12_288, 4),
        (ALL, 8, 8192, 1),
        (ALL | {16: 41.0}, 500, 32_768, 8),
        (dict.fromkeys(ALL, 10.0), 500, 32_768, 4),
    ],
)
def test_slots_that_are_worth_it_take_what_contexts_leave(
    speeds: dict[int, float], free: int, n_ctx: int, n_slots: int
) -> None:
    assert sizing_of(LLAMA_8B, 5 * GIB, free * GIB, speeds=speeds) == (n_ctx, n_slots)


@pytest.mark.parametrize(("n_ctx", "n_slots"), [(32_768, 4), (4096, 8), (2048, 16), (512, 16)])
def test_without_a_measurement_slots_take_four_gibibytes_at_most(n_ctx: int, n_slots: int) -> None:
    assert sizing_of(LLAMA_8B, 5 * GIB, 500 * GIB, n_ctx=n_ctx) == (n_ctx, n_slots)


@pytest.mark.parametrize(
    ("speeds", "slots"),
    [
        ((133, 133, 207, 300, 420), 16),
        ((31, 48, 80, 108, 125), 16),
        ((10, 20, 40, 50, 55), 8),
        ((10, 20, 40, 50, 30), 8),
        ((10, 20, 40, 20, 42), 4),
        ((10, 10, 10, 10, 10), 4),
        ((10, 9, 8, 7, 6), 4),
    ],
)
def test_the_best_of_all_counts_decides_but_for_a_tenth(
    speeds: tuple[float, ...], slots: int
) -> None:
    assert best_slots(dict(zip(ALL, speeds, strict=True)), 16) == slots


@pytest.mark.parametrize(("fitting", "slots"), [(1, 1), (3, 3), (6, 6), (12, 12), (16, 16)])
def test_the_best_that_fits_is_taken(fitting: int, slots: int) -> None:
    assert best_slots(ALL, fitting) == slots


def test_without_figures_all_that_fit_are_taken() -> None:
    assert best_slots({}, 6) == 6


@given(st.fixed_dictionaries(dict.fromkeys(ALL, st.floats(1e-4, 1e3))), st.integers(1, 16))
def test_a_table_never_takes_away_the_usual_four(speeds: dict[int, float], fitting: int) -> None:
    assert min(fitting, 4) <= best_slots(speeds, fitting) <= fitting
    doubled = {count: 2 * speed for count, speed in speeds.items()}
    assert best_slots(doubled, fitting) == best_slots(speeds, fitting)


shapes = st.builds(ModelShape, st.integers(1, 2**21), st.integers(0, 2**24))
amounts = st.integers(0, 2**40)


@given(shapes, amounts, amounts)
def test_caches_take_a_third_of_what_is_free_unless_at_the_least(
    shape: ModelShape, weights: int, free: int
) -> None:
    n_ctx, n_slots = sizing_of(shape, weights, free)
    taken = n_ctx * n_slots * shape.kv_bytes_per_token
    least = min(2048, shape.trained_context), 1
    assert 3 * taken <= max(0, free - weights) or (n_ctx, n_slots) == least


@given(shapes, amounts, amounts)
def test_a_context_is_within_what_was_trained_for(
    shape: ModelShape, weights: int, free: int
) -> None:
    n_ctx, n_slots = sizing_of(shape, weights, free)
    assert min(2048, shape.trained_context) <= n_ctx <= min(32_768, shape.trained_context)
    assert n_ctx % 256 == 0 or n_ctx == shape.trained_context
    assert 1 <= n_slots <= 16


@given(shapes, amounts, amounts)
def test_requests_share_memory_only_while_each_has_enough(
    shape: ModelShape, weights: int, free: int
) -> None:
    n_ctx, n_slots = sizing_of(shape, weights, free)
    enough = min(8192, shape.trained_context) // 256 * 256
    assert n_slots == 1 or n_ctx >= enough


@pytest.mark.parametrize(
    ("weights", "cores", "speed"),
    [(5e9, 16, 2.0), (5e9, 2, 1.0), (1e9, 4, 10.0), (0, 4, 10e9)],
)
def test_a_cpu_writes_as_fast_as_memory_or_its_cores_allow(
    weights: float, cores: int, speed: float
) -> None:
    assert tokens_per_second(int(weights), cores) == speed


@pytest.mark.parametrize(
    ("sizing", "speed", "read", "written", "timeout_s"),
    [
        (Sizing(8192, 4), 20.0, 4096, 2048, 2 * 4 * (2048 + 4096 / 5) / 20),
        (Sizing(8192, 1), 20.0, 4096, 2048, 300.0),
        (Sizing(32_768, 4), 2.0, 16_384, 8192, 4 * 3600.0),
        (Sizing(100_000, 1), 1e6, 50_000, 8192, 300.0),
        (Sizing(1, 1), 1.0, 1, 1, 300.0),
    ],
)
def test_limits_follow_from_the_context_and_the_speed(
    sizing: Sizing, speed: float, read: int, written: int, timeout_s: float
) -> None:
    profile = profile_of(sizing, speed)
    assert profile.context_tokens == sizing.n_ctx
    assert profile.max_input_tokens == read
    assert profile.max_output_tokens == written
    assert profile.timeout_s == pytest.approx(timeout_s)


def test_as_many_requests_are_in_line_as_are_computed() -> None:
    assert profile_of(Sizing(4096, 3), 10.0).concurrency == 6


def test_a_models_temperature_is_its_engines() -> None:
    assert profile_of(Sizing(4096, 3), 10.0).temperature is None


@given(shapes, amounts, amounts)
def test_slots_beyond_four_leave_a_request_the_context_that_it_has(
    shape: ModelShape, weights: int, free: int
) -> None:
    n_ctx, n_slots = sizing_of(shape, weights, free, speeds=ALL)
    usual = sizing_of(shape, weights, free, n_slots=min(n_slots, 4))
    assert n_ctx == usual.n_ctx
