"""States of prompts that have left their slots: in memory, and shared beginnings on disk.

`kept` is the memory, `folder` the disk, `states` decides what is stored and used again.
May be imported by `blocks.llama`.
"""

from .folder import PrefixFolder
from .kept import KeptPrefixes, PrefixState

__all__ = ["KeptPrefixes", "PrefixFolder", "PrefixState"]
