"""How many threads compute, by what else does."""

from .adapting import AdaptiveThreads

__all__ = ["AdaptiveThreads"]
