"""What is found out before a run starts: models, toolsets, gates and the room on the disk.

What is missing is an error here, before anything is paid for.
May be imported by `flows`, `evals` and `cli`.
"""
