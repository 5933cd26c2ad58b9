"""Classify and act."""

from __future__ import annotations

import json

from pydantic_ai import Agent

from ..calls import MODEL

desk = Agent(MODEL, instructions="You deal with what comes in.")


async def run() -> str:
    kind = json.loads((await desk.run("do: classify")).output)["kind"]
    work = {"bug": "do: fix", "question": "do: reply"}[kind]
    done = (await desk.run(work)).output
    return (await desk.run(f"do: report\n{done}")).output
