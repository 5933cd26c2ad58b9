import asyncio
import sys

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability

DBOS(config={"name": "approval", "system_database_url": "sqlite:///dbos.sqlite"})
writer = Agent("openai-chat:scripted", name="writer", capabilities=[DBOSDurability()])


@DBOS.workflow()
async def publish() -> str:
    note = (await writer.run("[draft] Draft the note")).output
    if await DBOS.recv_async("approval", timeout_seconds=7 * 24 * 3600) != "yes":
        return "It is not published."
    return (await writer.run(f"{note}\n\n[publish] Publish the note")).output


async def main() -> None:
    DBOS.launch()
    with SetWorkflowID("approval"):
        handle = await DBOS.start_workflow_async(publish)
    if sys.argv[1:]:
        await DBOS.send_async("approval", sys.argv[1], "approval")
    print(await handle.get_result())


if __name__ == "__main__":
    asyncio.run(main())
