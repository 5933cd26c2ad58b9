"""What runs leave outside the memory: run folders, gate results, Prefect's stored results."""
