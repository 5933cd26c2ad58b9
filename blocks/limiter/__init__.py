"""What bounds and repeats the requests to a provider: the only layer that does.

One limiter a provider and key. `window` and `faults` are pure; it imports the package's errors
alone.
May be imported by `blocks`, `tasks`, `flows` and `evals`.
"""
