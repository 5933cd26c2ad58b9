"""Several models in one memory: which engines are loaded, and which make room for others.

`estimate`, `budget` and `unloading` decide, `model_memory` holds the engines that wait or are
loaded.
May be imported by `blocks.llama` and `cli`.
"""

from .budget import memory_budget
from .model_memory import MemoryUser, ModelMemory, model_memory
from .unloading import MemoryUse, Resident

__all__ = [
    "MemoryUse",
    "MemoryUser",
    "ModelMemory",
    "Resident",
    "memory_budget",
    "model_memory",
]
