"""How a request of pydantic-ai becomes the engine's, and the engine's answer a response.

Requests (`request`), answers (`response`), streams (`stream`); what they may set. Nothing computes
here.
May be imported by `blocks.llama` and `serve`.
"""
