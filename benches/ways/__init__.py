"""Six patterns as plans, with LangGraph, and with pydantic-ai in plain asyncio."""
