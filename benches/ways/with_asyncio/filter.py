"""Filter."""

from __future__ import annotations

import asyncio
import json

from pydantic_ai import Agent

from ..calls import MODEL

reader = Agent(MODEL, instructions="You read closely.")


async def read(name: str) -> str:
    return (await reader.run(f"do: read {name}")).output


async def run() -> str:
    papers = json.loads((await reader.run("do: find")).output)
    names = [paper["name"] for paper in papers if paper["score"] > 5]
    notes = await asyncio.gather(*map(read, names))
    return (await reader.run("\n".join(["do: compare", *notes]))).output
