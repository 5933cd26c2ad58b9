"""What a run and its Prefect server know of each other: cancelling, and task runs that are left."""
