"""Loop until done."""

from __future__ import annotations

import json

from pydantic_ai import Agent

from ..calls import MODEL

MOST = 6
editor = Agent(MODEL, instructions="You improve a text and list its problems.")


async def run() -> str:
    answer = "none"
    for number in range(1, MOST + 1):
        answer = (await editor.run(f"Problems: {answer}\ndo: improve {number}")).output
        if not json.loads(answer)["problems"]:
            return answer
    raise RuntimeError(f"There are still problems after {MOST} rounds.")
