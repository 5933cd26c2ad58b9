"""Several models in one memory: which engines are loaded, and which make room for others.

`estimate`, `budget` and `unloading` decide, `model_memory` holds the engines that wait or are
loaded.
"""

from .budget import memory_budget
from .model_memory import MemoryUse, MemoryUser, ModelMemory, Resident, model_memory

__all__ = [
    "MemoryUse",
    "MemoryUser",
    "ModelMemory",
    "Resident",
    "memory_budget",
    "model_memory",
]
