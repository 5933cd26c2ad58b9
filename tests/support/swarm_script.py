"""The command `prefect-swarm`."""

from __future__ import annotations

from prefect_swarm.cli import main

if __name__ == "__main__":
    main()
