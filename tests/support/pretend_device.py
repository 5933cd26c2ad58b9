"""A device for machines that have none: the processor computes what lies on it, but nothing that
lies on it may be computed with what doesn't, as on a GPU."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import pytest
import torch
import torch.optim.optimizer as optimizer
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only

__all__ = ["DEVICE", "pretend_device"]

DEVICE = torch.device("meta")
"""The name it goes by: that of a device whose tensors hold nothing."""

_aten = torch.ops.aten
_MOVES = (_aten._to_copy.default, _aten.copy_.default)


class _DeviceTensor(Tensor):
    """A tensor on the device; `held` is where it really is."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> _DeviceTensor:
        made = Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=DEVICE,
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return _call(func, args, kwargs or {})

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.held.detach().__reduce_ex__(protocol)


class _Device(TorchDispatchMode):
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return _call(func, args, kwargs or {})


@contextmanager
def pretend_device() -> Generator[torch.device]:
    """Have the device, with an optimiser that supports it."""
    with pytest.MonkeyPatch.context() as patch, _Device():
        known = [*cast("Any", optimizer)._get_fused_kernels_supported_devices(), DEVICE.type]
        patch.setattr(optimizer, "_get_fused_kernels_supported_devices", lambda: known)
        yield DEVICE


def _call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    on_device = [tensor for tensor in tensors if isinstance(tensor, _DeviceTensor)]
    # As everywhere a single number may come from the processor.
    on_processor = [
        tensor for tensor in tensors if not isinstance(tensor, _DeviceTensor) and tensor.dim()
    ]
    if on_device and on_processor and func not in _MOVES:
        raise RuntimeError(f"{func} is given tensors of two devices.")
    to = kwargs.get("device")
    held = tree_map_only(_DeviceTensor, lambda tensor: tensor.held, (args, kwargs))
    found = func(*held[0], **(held[1] if to is None else {**held[1], "device": "cpu"}))
    stays = isinstance(args[0], _DeviceTensor) if func is _aten.copy_.default else bool(on_device)
    if not (stays if to is None else torch.device(to) == DEVICE):
        return found
    # A wrapper can't say that the numbers it holds are still to be conjugated.
    found = tree_map_only(Tensor, lambda tensor: _DeviceTensor(tensor.resolve_conj()), found)
    return return_and_correct_aliasing(func, args, kwargs, found) if on_device else found
