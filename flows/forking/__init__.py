"""Forks: a new run that takes over what another one has finished."""
