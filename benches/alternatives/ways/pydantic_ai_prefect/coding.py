import asyncio
import subprocess
import sys
from pathlib import Path

from prefect import flow
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.durable_exec.prefect import PrefectDurability

TEST = "from add import add\nassert add(2, 3) == 5, add(2, 3)\n"
developer = Agent("openai-chat:scripted", name="developer", capabilities=[PrefectDurability()])


@developer.output_validator
def check(code: str) -> str:
    Path("add.py").write_text(code)
    Path("test.py").write_text(TEST)
    run = subprocess.run([sys.executable, "test.py"], capture_output=True, text=True, timeout=30)
    if run.returncode:
        raise ModelRetry(run.stderr)
    return code


@flow
async def write() -> str:
    task = "[coding] Write a Python function add(a, b) that returns the sum. Code alone."
    result = await developer.run(task)
    return result.output


if __name__ == "__main__":
    print(asyncio.run(write()))
