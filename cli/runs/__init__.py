"""The command `runs`: the stored runs, read from their folders without a Prefect server.

May be imported by `cli`.
"""
