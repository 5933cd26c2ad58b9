"""What `dask worker --preload` loads so that the worker has another version of the package."""

from __future__ import annotations

from prefect_swarm.flows.cluster import entry
from prefect_swarm.host import system


def dask_setup(worker: object) -> None:
    """Pretend."""
    entry.package_version = system.package_version = lambda: "0.0.1"
