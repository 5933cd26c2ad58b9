"""Several models in one memory: which engines are loaded, and which make room for others."""

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
