"""Operations with a backward of their own: autograd would keep or copy more than it has to."""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

__all__ = [
    "apply_function",
    "gated_silu",
    "pad_rows",
    "rms_norm",
    "target_log_probabilities",
    "unpad_rows",
]


def apply_function(function: type[torch.autograd.Function], *inputs: object) -> Tensor:
    """`function.apply`, which has no types."""
    return cast("Tensor", cast("Any", function).apply(*inputs))


def rms_norm(x: Tensor, eps: float, dtype: torch.dtype) -> Tensor:
    """Divide each row by its root mean square, and round to a type."""
    return apply_function(_RmsNorm, x, eps, dtype)


def gated_silu(both: Tensor) -> Tensor:
    """SiLU of the first half of the columns, times the second half."""
    return apply_function(_GatedSilu, both)


def pad_rows(x: Tensor, pad: Tensor, unpad: Tensor, prefix: int) -> Tensor:
    """Lay packed rows out as (examples, longest, columns); `Batch` says what is where."""
    return apply_function(_PadRows, x, pad, unpad, prefix)


def unpad_rows(x: Tensor, unpad: Tensor) -> Tensor:
    """Pick the rows that are not padding."""
    return apply_function(_UnpadRows, x, unpad)


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float, dtype: torch.dtype) -> Tensor:
        norm: Tensor = cast("Any", torch.linalg).vector_norm(x, dim=-1, keepdim=True)
        factor = (norm.square() / x.shape[-1] + eps).rsqrt()
        y = (x * factor).to(dtype)
        ctx.save_for_backward(y, factor)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        y, factor = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        grad, y = grads[0].to(factor.dtype), y.to(factor.dtype)
        along = (grad * y).sum(-1, keepdim=True) / y.shape[-1]
        return torch.addcmul(grad, y, along, value=-1).mul_(factor), None, None


class _GatedSilu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, both: Tensor) -> Tensor:
        ctx.save_for_backward(both)
        gate, up = both.chunk(2, 1)
        return F.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (both,) = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        (grad,) = grads
        gate, up = both.chunk(2, 1)
        into = torch.empty_like(both)
        into_gate, into_up = into.chunk(2, 1)
        torch.mul(F.silu(gate), grad, out=into_up)
        into_gate.copy_(torch.ops.aten.silu_backward(grad * up, gate))
        return into


class _PadRows(torch.autograd.Function):
    """What is in the padding has no say, so it gets no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, pad: Tensor, unpad: Tensor, prefix: int) -> Tensor:
        ctx.save_for_backward(unpad)
        ctx.prefix = prefix
        return x.index_select(0, pad.flatten()).view(*pad.shape, -1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        (unpad,) = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        rows = grads[0].flatten(0, 1).index_select(0, unpad)
        return torch.cat([rows.new_zeros(ctx.prefix, rows.shape[1]), rows]), None, None, None


class _UnpadRows(torch.autograd.Function):
    """Indexing has to expect that a row is picked twice; here none is."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, unpad: Tensor) -> Tensor:
        ctx.save_for_backward(unpad)
        ctx.length = x.shape[0]
        return x.index_select(0, unpad)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (unpad,) = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        into = grads[0].new_zeros(ctx.length, grads[0].shape[1])
        return into.index_copy_(0, unpad, grads[0]), None


_ROWS = 256


def target_log_probabilities(states: Tensor, head: Tensor, targets: Tensor) -> Tensor:
    """(targets) logarithms of what each target is predicted with, in nats.

    Args:
        states: (targets, width).
        head: (vocabulary, width), frozen.
        targets: (targets) token ids.
    """
    return apply_function(_TargetLogProbabilities, states, head, targets)


class _TargetLogProbabilities(torch.autograd.Function):
    """Holds the gradient of each row in place of its logits, which take far more memory."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, head: Tensor, targets: Tensor) -> Tensor:
        wants_grad = ctx.needs_input_grad[0]
        grad = torch.empty_like(states) if wants_grad else None
        found = states.new_empty(len(targets))
        for start in range(0, len(targets), _ROWS):
            rows = slice(start, start + _ROWS)
            logits = (states[rows].to(head.dtype) @ head.T).to(states.dtype)
            target = targets[rows, None]
            highest = logits.amax(1, keepdim=True)
            missed = highest - logits.gather(1, target)
            odds = logits.sub_(highest).exp_()
            norm = odds.sum(1, keepdim=True)
            found[rows] = -(missed + norm.log())[:, 0]
            if grad is not None:
                grad[rows] = odds.to(head.dtype) @ head
                grad[rows].div_(-norm).add_(head[target[:, 0]])
        if grad is not None:
            ctx.save_for_backward(grad)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (grad,) = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        return grad * grads[0][:, None], None, None
