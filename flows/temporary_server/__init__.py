"""The Prefect server of a process for which none is configured."""
