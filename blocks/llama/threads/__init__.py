"""How many threads compute, by what else does.

`deciding` is pure; `foreign_load` reads how busy the cores are; `adapting` changes the count.
May be imported by `blocks.llama`.
"""

from .adapting import AdaptiveThreads

__all__ = ["AdaptiveThreads"]
