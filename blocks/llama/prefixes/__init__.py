"""States of prompts that no slot holds any more: in memory, and shared beginnings on disk."""

from .folder import PrefixFolder
from .kept import KeptPrefixes, PrefixState

__all__ = ["KeptPrefixes", "PrefixFolder", "PrefixState"]
