import asyncio
import sys

from prefect import flow
from pydantic_ai import Agent
from pydantic_ai.durable_exec.prefect import PrefectDurability

writer = Agent("openai-chat:scripted", name="writer", capabilities=[PrefectDurability()])


@flow
async def publish(approved: bool) -> str:
    note = await writer.run("[draft] Draft the note")
    if not approved:
        return f"{note.output}\nPublish it: python approval.py yes"
    result = await writer.run(f"{note.output}\n\n[publish] Publish the note")
    return result.output


if __name__ == "__main__":
    print(asyncio.run(publish(sys.argv[1:] == ["yes"])))
