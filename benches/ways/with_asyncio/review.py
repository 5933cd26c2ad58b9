"""Review."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from pydantic_ai import Agent

from ..calls import MODEL

VOTES, PASS, ATTEMPTS = 3, 2, 3
writer = Agent(MODEL, instructions="You write.")
skeptic = Agent(MODEL, instructions="You look for what is wrong.")


async def check(draft: str) -> dict[str, Any]:
    return json.loads((await skeptic.run(f"Try to refute this result: {draft}")).output)


async def run() -> str:
    feedback = ""
    for _ in range(ATTEMPTS):
        draft = (await writer.run(f"do: draft{feedback}")).output
        verdicts = await asyncio.gather(*(check(draft) for _ in range(VOTES)))
        if sum(each["verdict"] == "accept" for each in verdicts) >= PASS:
            return draft
        reasons = [reason for each in verdicts for reason in each["reasons"]]
        feedback = f"\n{draft} was not accepted: {reasons}"
    raise RuntimeError("No attempt was accepted.")
