import asyncio

from agent_framework import Agent, FileCheckpointStorage, step, workflow
from agent_framework.openai import OpenAIChatCompletionClient

TOPICS = [str(number) for number in range(1, 13)]
agent = Agent(OpenAIChatCompletionClient(model="scripted"), name="researcher")


@step
async def ask(prompt: str) -> str:
    return (await agent.run(prompt)).text


@workflow
async def compare(task: str) -> str:
    asked = [ask(f"Research this topic: [research {topic}]") for topic in TOPICS]
    findings = "\n\n".join(await asyncio.gather(*asked))
    return await ask(f"{findings}\n\n[join] {task}")


async def main() -> None:
    storage = FileCheckpointStorage("checkpoints")
    flow = compare.build(checkpoint_storage=storage)
    latest = await storage.get_latest(workflow_name="compare")
    if latest:
        result = await flow.run(checkpoint_id=latest.checkpoint_id)
    else:
        result = await flow.run("Compare the findings")
    print(result.get_outputs()[0])


asyncio.run(main())
