"""The launcher: it starts a sandbox, watches it and ends it, in a process of its own.

PID 1 (`init`), mounts, privileges, control groups; the standard library alone, no Prefect.
"""
