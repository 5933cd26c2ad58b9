"""The loss over the vocabulary, without ever holding all logits.

With 49,152 words the logits of one batch are 150 MB. They are computed for some rows at a time, and
turned into their own gradient on the spot.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from .operations import applied

__all__ = ["mean_loss"]

_ROWS = 256


def mean_loss(states: Tensor, head: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats.

    Args:
        states: (targets, width).
        head: (vocabulary, width), frozen.
        targets: (targets) token ids.
    """
    return applied(_MeanLoss, states, head, targets)


class _MeanLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, head: Tensor, targets: Tensor) -> Tensor:
        wants_grad = ctx.needs_input_grad[0]
        grad = torch.empty_like(states) if wants_grad else None
        total = 0.0
        for start in range(0, len(targets), _ROWS):
            rows = slice(start, start + _ROWS)
            logits = (states[rows].to(head.dtype) @ head.T).to(states.dtype)
            target = targets[rows, None]
            highest = logits.amax(1, keepdim=True)
            total += float((highest - logits.gather(1, target)).double().sum())
            odds = logits.sub_(highest).exp_()
            norm = odds.sum(1, keepdim=True)
            total += float(norm.log().double().sum())
            if grad is not None:
                grad[rows] = odds.to(head.dtype) @ head
                grad[rows].div_(norm).sub_(head[target[:, 0]]).div_(len(targets))
        if grad is not None:
            ctx.save_for_backward(grad)
        return states.new_tensor(total / len(targets))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (grad,) = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        return grad * grads[0], None, None
