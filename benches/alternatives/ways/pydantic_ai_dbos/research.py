import asyncio

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability

TOPICS = [str(number) for number in range(1, 13)]
DBOS(config={"name": "research", "system_database_url": "sqlite:///dbos.sqlite"})
agent = Agent("openai-chat:scripted", name="researcher", capabilities=[DBOSDurability()])


@DBOS.workflow()
async def research(topic: str) -> str:
    return (await agent.run(f"Research this topic: [research {topic}]")).output


@DBOS.workflow()
async def compare() -> str:
    begun = [await DBOS.start_workflow_async(research, topic) for topic in TOPICS]
    findings = "\n\n".join([await handle.get_result() for handle in begun])
    return (await agent.run(f"{findings}\n\n[join] Compare the findings")).output


async def main() -> None:
    DBOS.launch()
    with SetWorkflowID("research"):
        handle = await DBOS.start_workflow_async(compare)
    print(await handle.get_result())


if __name__ == "__main__":
    asyncio.run(main())
