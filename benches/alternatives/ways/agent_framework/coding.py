import asyncio
import subprocess
import sys
from pathlib import Path

from agent_framework import Agent, FileCheckpointStorage, step, workflow
from agent_framework.openai import OpenAIChatCompletionClient

TEST = "from add import add\nassert add(2, 3) == 5, add(2, 3)\n"
agent = Agent(OpenAIChatCompletionClient(model="scripted"), name="developer")


@step
async def ask(prompt: str) -> str:
    return (await agent.run(prompt)).text


@step
async def check(code: str) -> str:
    Path("add.py").write_text(code)
    Path("test.py").write_text(TEST)
    run = subprocess.run([sys.executable, "test.py"], capture_output=True, text=True, timeout=30)
    return run.stderr


@workflow
async def write(task: str) -> str:
    code = await ask(task)
    for _ in range(2):
        if not (failure := await check(code)):
            return code
        code = await ask(f"{task}\n\nYour code:\n{code}\n\nIt failed:\n{failure}")
    if failure := await check(code):
        raise RuntimeError(failure)
    return code


async def main() -> None:
    flow = write.build(checkpoint_storage=FileCheckpointStorage("checkpoints"))
    task = "[coding] Write a Python function add(a, b) that returns the sum. Code alone."
    print((await flow.run(task)).get_outputs()[0])


asyncio.run(main())
