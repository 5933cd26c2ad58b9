"""The commands below `prefect-swarm memory`.

A module a command; `options` has what they share. Each works on the memory that settings name.
"""
