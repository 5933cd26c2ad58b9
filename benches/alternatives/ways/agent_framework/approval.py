import asyncio
import sys

from agent_framework import Agent, FileCheckpointStorage, RunContext, step, workflow
from agent_framework.openai import OpenAIChatCompletionClient

agent = Agent(OpenAIChatCompletionClient(model="scripted"), name="writer")


@step
async def ask(prompt: str) -> str:
    return (await agent.run(prompt)).text


@workflow
async def publish(task: str, ctx: RunContext) -> str:
    note = await ask("[draft] Draft the note")
    if await ctx.request_info(note, str, request_id="approval") != "yes":
        return "It is not published."
    return await ask(f"{note}\n\n[publish] {task}")


async def main() -> None:
    storage = FileCheckpointStorage("checkpoints")
    flow = publish.build(checkpoint_storage=storage)
    latest = await storage.get_latest(workflow_name="publish")
    if latest:
        approval = {"approval": sys.argv[1]}
        result = await flow.run(responses=approval, checkpoint_id=latest.checkpoint_id)
    else:
        result = await flow.run("Publish the note")
    print(result.get_outputs() or result.get_request_info_events())


asyncio.run(main())
