"""Products have as many bits as is asked for, or as the processor is quick at."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from prefect_swarm.parl.train import TrainConfig
from prefect_swarm.parl.train.precision import product_type


@pytest.mark.parametrize(
    ("asked", "has", "taken"),
    [
        ("float32", {"avx512_bf16": True}, torch.float32),
        ("bfloat16", {}, torch.bfloat16),
        (None, {"avx512_bf16": True}, torch.bfloat16),
        (None, {"amx_bf16": True, "avx512_bf16": False}, torch.bfloat16),
        (None, {"avx512_bf16": False}, torch.float32),
        (None, {}, torch.float32),
    ],
)
def test_products_are_as_asked_or_as_the_processor_is_quick_at(
    asked: Literal["float32", "bfloat16"] | None,
    has: dict[str, bool],
    taken: torch.dtype,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    assert product_type(TrainConfig(steps=1, precision=asked)) == taken
