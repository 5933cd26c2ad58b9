"""The HTTP server of `prefect-swarm serve`: the local engine for other programs.

OpenAI's chat API and one of our own over the engine: requests, answers, access, metrics.
"""
