"""What runs leave outside the memory: run folders, gate results, Prefect's stored results.

`finding` and `removing` are for `forget --everywhere`; nothing else removes a run's files.
May be imported by `memory` and `cli`.
"""
