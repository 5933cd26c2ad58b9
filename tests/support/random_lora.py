"""Random adapters over a base, for what trains and exports them."""

from __future__ import annotations

import torch
from prefect_swarm.parl.train.base import Adapter, Base, new_adapter


def random_adapter(base: Base, seed: int, std: float) -> Adapter:
    """An adapter of rank 4 that changes what the base computes, the more the larger `std`."""
    adapter = new_adapter(base, 4, 8.0, 0)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for matrix in adapter.b.values():
            matrix.normal_(std=std, generator=generator)
    return adapter
