"""The command `prefect-swarm eval`.

`command` runs the cases, `printing` writes the table of what came of them.
May be imported by `cli`.
"""
