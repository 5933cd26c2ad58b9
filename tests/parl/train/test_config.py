"""Settings that make no sense are refused by name."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.parl.train import TrainConfig


@pytest.mark.parametrize(
    "setting",
    [
        {"rank": 0},
        {"alpha": 0.0},
        {"lr": math.nan},
        {"lr": math.inf},
        {"lr_ratio": 0.0},
        {"warmup": 1.5},
        {"final_lr": -0.1},
        {"minutes": 0.0},
        {"batch_tokens": 0},
        {"patience": 0},
        {"threads": 0},
        {"device": "gpu"},
        {"device": "cuda:x"},
    ],
    ids=str,
)
def test_a_value_out_of_range_is_refused(setting: dict[str, Any]) -> None:
    (name,) = setting
    with pytest.raises(InputError, match=f"{name} is"):
        replace(TrainConfig(steps=1), **setting)


def test_a_run_needs_an_end() -> None:
    with pytest.raises(InputError, match="when training ends"):
        TrainConfig()
