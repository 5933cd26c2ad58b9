"""What a run and its Prefect server know of each other: cancelling, that it is alive, and task
runs that are left.

It reads and sets states on the server; what a run decides doesn't depend on it.
"""
