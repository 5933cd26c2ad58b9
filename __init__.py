"""Prefect Swarm: an objective becomes a Prefect flow run of concurrent subagents."""
