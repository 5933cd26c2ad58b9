"""Fan-out and join."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent

from ..calls import LETTERS, MODEL

reader = Agent(MODEL, instructions="You read one closely.")


async def read(name: str) -> str:
    return (await reader.run(f"do: read {name}")).output


async def run() -> str:
    notes = await asyncio.gather(*map(read, LETTERS))
    return (await reader.run("\n".join(["do: compare", *notes]))).output
