"""How a request of pydantic-ai becomes the engine's, and the engine's answer a response."""
