"""The loss over the vocabulary, without ever holding all logits.

With 49,152 words the logits of one batch are 150 MB. They are computed for some rows at a time, and
turned into their own gradient on the spot.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from .operations import apply_function

__all__ = ["weighted_loss"]

_ROWS = 256


def weighted_loss(states: Tensor, head: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Sum of the targets' cross-entropies in nats, each times its weight.

    Args:
        states: (targets, width).
        head: (vocabulary, width), frozen.
        targets: (targets) token ids.
        weights: (targets) numbers; below 0 where a token shall become less likely.
    """
    return apply_function(_WeightedLoss, states, head, targets, weights)


class _WeightedLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, head: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        wants_grad = ctx.needs_input_grad[0]
        grad = torch.empty_like(states) if wants_grad else None
        total = states.new_zeros((), dtype=torch.float64)
        for start in range(0, len(targets), _ROWS):
            rows = slice(start, start + _ROWS)
            logits = (states[rows].to(head.dtype) @ head.T).to(states.dtype)
            target, weight = targets[rows, None], weights[rows, None].to(states.dtype)
            highest = logits.amax(1, keepdim=True)
            missed = highest - logits.gather(1, target)
            odds = logits.sub_(highest).exp_()
            norm = odds.sum(1, keepdim=True)
            total += ((missed + norm.log()) * weight).double().sum()
            if grad is not None:
                grad[rows] = odds.to(head.dtype) @ head
                grad[rows].div_(norm).sub_(head[target[:, 0]]).mul_(weight)
        if grad is not None:
            ctx.save_for_backward(grad)
        return total.to(states)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        (grad,) = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        return grad * grads[0], None, None, None
