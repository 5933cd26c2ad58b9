"""What `dask worker --preload` loads so that the worker has no sandbox."""

from __future__ import annotations

from prefect_swarm.errors import SandboxError
from prefect_swarm.gates.sandbox import probe


def dask_setup(worker: object) -> None:
    """Pretend."""

    def probed() -> SandboxError:
        return SandboxError("There is no sandbox here.", "Install bubblewrap.")

    probe._probe_once = probed  # pyright: ignore
