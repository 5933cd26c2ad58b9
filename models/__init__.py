"""Models by name: resolving, limits, requests. `models/llama/` is the local engine."""
