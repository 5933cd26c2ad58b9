"""The commands below `prefect-swarm memory`.

One module for each command; `options` is shared. Each works on the memory that settings name.
"""
