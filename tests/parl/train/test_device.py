"""A GPU is taken where there is one, and products have as many bits as the device is quick at."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Literal
from unittest.mock import Mock

import pytest
import torch
from prefect_swarm.errors import InputError
from prefect_swarm.parl.train import TrainConfig
from prefect_swarm.parl.train.learner import device_of, product_type

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def has_gpus(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


@pytest.mark.parametrize(
    ("asked", "gpus", "taken"),
    [
        (None, 0, CPU),
        (None, 1, GPU),
        ("cpu", 1, CPU),
        ("cuda", 1, GPU),
        ("cuda:1", 2, torch.device("cuda:1")),
    ],
)
def test_the_device_is_as_asked_or_a_gpu_where_there_is_one(
    asked: str | None, gpus: int, taken: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_gpus(gpus, monkeypatch)
    assert device_of(TrainConfig(steps=1, device=asked)) == taken


@pytest.mark.parametrize(("asked", "gpus"), [("cuda", 0), ("cuda:1", 1)])
def test_a_gpu_that_is_not_there_is_named(
    asked: str, gpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_gpus(gpus, monkeypatch)
    with pytest.raises(InputError, match=f"There is no {asked} .* finds {gpus} GPU"):
        device_of(TrainConfig(steps=1, device=asked))


@pytest.mark.parametrize("has_it", [True, False])
def test_a_gpu_says_whether_it_multiplies_16_bits(
    has_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", Mock(return_value=has_it))
    taken = torch.bfloat16 if has_it else torch.float32
    assert product_type(TrainConfig(steps=1), GPU) == taken


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
    assert product_type(TrainConfig(steps=1, precision=asked), CPU) == taken
