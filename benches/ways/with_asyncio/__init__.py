"""The patterns with pydantic-ai in plain asyncio."""
