"""The local engine: llama.cpp, batching requests in one thread per model file.

`native` and `batcher` compute, `engine` holds the processes' engines, `model` is the pydantic-ai
side.
"""

from .api import EngineConfig, GeneratedText, GenerateRequest, LocalTool, LocalToolCall, Message
from .engine import Engine, close_engines, get_engine
from .gguf import check_model_file, demo_model_path
from .limits import engine_config_for

__all__ = [
    "Engine",
    "EngineConfig",
    "GenerateRequest",
    "GeneratedText",
    "LocalTool",
    "LocalToolCall",
    "Message",
    "check_model_file",
    "close_engines",
    "demo_model_path",
    "engine_config_for",
    "get_engine",
]
