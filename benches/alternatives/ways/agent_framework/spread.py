import asyncio

from agent_framework import Agent, FileCheckpointStorage, step, workflow
from agent_framework.openai import OpenAIChatCompletionClient
from pydantic import BaseModel


class Found(BaseModel):
    items: list[str]


class Score(BaseModel):
    name: str
    score: int


agent = Agent(OpenAIChatCompletionClient(model="scripted"), name="scout")


@step
async def find() -> list[str]:
    response = await agent.run("[find] List the things", options={"response_format": Found})
    return response.value.items


@step
async def score(item: str) -> str:
    prompt = f"Score this thing: [item {item}]"
    response = await agent.run(prompt, options={"response_format": Score})
    return response.value.model_dump_json()


@step
async def join(scores: list[str], task: str) -> str:
    return (await agent.run("\n".join([*scores, f"[join] {task}"]))).text


@workflow
async def compare(task: str) -> str:
    scores = await asyncio.gather(*[score(item) for item in await find()])
    return await join(list(scores), task)


async def main() -> None:
    storage = FileCheckpointStorage("checkpoints")
    flow = compare.build(checkpoint_storage=storage)
    latest = await storage.get_latest(workflow_name="compare")
    if latest:
        result = await flow.run(checkpoint_id=latest.checkpoint_id)
    else:
        result = await flow.run("Compare the scores")
    print(result.get_outputs()[0])


asyncio.run(main())
