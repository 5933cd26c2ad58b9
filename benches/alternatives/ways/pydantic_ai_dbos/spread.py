import asyncio

from dbos import DBOS, SetWorkflowID
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability


class Found(BaseModel):
    items: list[str]


class Score(BaseModel):
    name: str
    score: int


MODEL = "openai-chat:scripted"
DBOS(config={"name": "spread", "system_database_url": "sqlite:///dbos.sqlite"})
scout = Agent(MODEL, name="scout", output_type=Found, capabilities=[DBOSDurability()])
judge = Agent(MODEL, name="judge", output_type=Score, capabilities=[DBOSDurability()])
writer = Agent(MODEL, name="writer", capabilities=[DBOSDurability()])


@DBOS.workflow()
async def score(item: str) -> str:
    return (await judge.run(f"Score this thing: [item {item}]")).output.model_dump_json()


@DBOS.workflow()
async def compare() -> str:
    found = await scout.run("[find] List the things")
    begun = [await DBOS.start_workflow_async(score, item) for item in found.output.items]
    scores = "\n".join([await handle.get_result() for handle in begun])
    return (await writer.run(f"{scores}\n\n[join] Compare the scores")).output


async def main() -> None:
    DBOS.launch()
    with SetWorkflowID("spread"):
        handle = await DBOS.start_workflow_async(compare)
    print(await handle.get_result())


if __name__ == "__main__":
    asyncio.run(main())
