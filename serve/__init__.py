"""The server of `prefect-swarm serve`: the local engine for other programs."""
