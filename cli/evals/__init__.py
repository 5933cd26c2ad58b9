"""`prefect-swarm eval`."""
