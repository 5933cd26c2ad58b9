import asyncio
import subprocess
import sys
from pathlib import Path

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.durable_exec.dbos import DBOSDurability

TEST = "from add import add\nassert add(2, 3) == 5, add(2, 3)\n"
DBOS(config={"name": "coding", "system_database_url": "sqlite:///dbos.sqlite"})
developer = Agent("openai-chat:scripted", name="developer", capabilities=[DBOSDurability()])


@DBOS.step()
def run_test(code: str) -> str:
    Path("add.py").write_text(code)
    Path("test.py").write_text(TEST)
    run = subprocess.run([sys.executable, "test.py"], capture_output=True, text=True, timeout=30)
    return run.stderr


@developer.output_validator
def check(code: str) -> str:
    if failure := run_test(code):
        raise ModelRetry(failure)
    return code


@DBOS.workflow()
async def write() -> str:
    task = "[coding] Write a Python function add(a, b) that returns the sum. Code alone."
    return (await developer.run(task)).output


async def main() -> None:
    DBOS.launch()
    with SetWorkflowID("coding"):
        handle = await DBOS.start_workflow_async(write)
    print(await handle.get_result())


if __name__ == "__main__":
    asyncio.run(main())
