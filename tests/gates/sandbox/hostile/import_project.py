"""Imports the package that runs it."""

try:
    __import__("prefect_swarm.settings")
except ImportError:
    print("held")
