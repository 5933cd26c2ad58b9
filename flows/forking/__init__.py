"""Forks: a new run that takes over what another one has finished.

`choice` is pure; `beginning` fills the folder of the new run before anything of it runs.
May be imported by `flows` and `cli`.
"""
