"""Best of three."""

from __future__ import annotations

import asyncio
import json

from pydantic_ai import Agent

from ..calls import MODEL

SAMPLES = 3
writer = Agent(MODEL, instructions="You write.")
judge = Agent(MODEL, instructions="You compare.")


async def run() -> str:
    made = await asyncio.gather(*(writer.run("do: write") for _ in range(SAMPLES)))
    samples = [each.output for each in made]
    named = [f"{letter}: {text}" for letter, text in zip("ABC", samples, strict=True)]
    prompt = "\n".join(["Compare these results, and name the best one.", *named])
    return samples["ABC".index(json.loads((await judge.run(prompt)).output)["best"])]
