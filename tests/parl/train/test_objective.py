"""The clipped objective of a planner that learns from runs of its own plans."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.parl.train import PolicySettings
from prefect_swarm.parl.train.objective import PolicyMeter, PolicyTarget, clipped_terms

PLAIN = PolicySettings(drift=0.0, low=-0.2, high=0.2)


def gradient(log_ratio: float, advantage: float, policy: PolicySettings = PLAIN) -> float:
    """That of the objective by the new log-probability."""
    new = torch.tensor([-1.0 + log_ratio], dtype=torch.float64, requires_grad=True)
    old, advantages = new.new_tensor([-1.0]), new.new_tensor([advantage])
    (found,) = torch.autograd.grad(clipped_terms(new, old, advantages, policy).sum(), new)
    return float(found)


def test_where_nothing_has_moved_the_gradient_is_the_advantage() -> None:
    assert gradient(0.0, 0.7) == pytest.approx(0.7)
    assert gradient(0.0, -0.7) == pytest.approx(-0.7)


def test_within_the_bounds_the_ratio_weighs_it() -> None:
    assert gradient(0.1, 0.7) == pytest.approx(0.7 * math.exp(0.1))


@pytest.mark.parametrize("advantage", [0.7, -0.7])
@pytest.mark.parametrize("log_ratio", [-0.3, 0.3])
def test_beyond_a_bound_there_is_none_whatever_the_advantage(
    log_ratio: float, advantage: float
) -> None:
    assert gradient(log_ratio, advantage) == 0


def test_the_square_of_the_log_ratio_draws_back() -> None:
    policy = PolicySettings(drift=0.5, low=-0.2, high=0.2)
    assert gradient(0.3, 0.7, policy) == pytest.approx(-2 * 0.5 * 0.3)
    assert gradient(-0.3, 0.7, policy) == pytest.approx(2 * 0.5 * 0.3)


@given(st.floats(-3, 3), st.floats(-1, 1))
def test_no_token_gains_more_than_at_its_bounds(log_ratio: float, advantage: float) -> None:
    new = torch.tensor([log_ratio], dtype=torch.float64)
    term = float(clipped_terms(new, new.new_zeros(1), new.new_tensor([advantage]), PLAIN))
    least, most = sorted(math.exp(bound) * advantage for bound in (PLAIN.low, PLAIN.high))
    assert least - 1e-9 <= term <= most + 1e-9


def test_the_loss_is_the_mean_over_the_tokens_of_the_step() -> None:
    old = torch.tensor([-1.0, -2.0])
    target = PolicyTarget(old, torch.tensor([0.5, -0.25]), 10, PLAIN)
    assert float(target.loss(old.clone())) == pytest.approx(-(0.5 - 0.25) / 10)


def test_the_meter_counts_what_is_clipped_and_how_far_the_rest_has_moved() -> None:
    meter = PolicyMeter()
    meter.add(torch.tensor([0.0, 0.1, 0.5, -0.5]), PLAIN)
    found = meter.means()
    assert found["clipped"] == 0.5
    assert found["log_ratio"] == pytest.approx(0.1 / 4)
    assert found["kl"] > 0
    assert PolicyMeter().means() == {"clipped": 0, "log_ratio": 0, "kl": 0}
