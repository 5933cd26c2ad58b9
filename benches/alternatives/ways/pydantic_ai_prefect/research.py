import asyncio

from prefect import flow
from pydantic_ai import Agent
from pydantic_ai.durable_exec.prefect import PrefectDurability

TOPICS = [str(number) for number in range(1, 13)]
agent = Agent("openai-chat:scripted", name="researcher", capabilities=[PrefectDurability()])


@flow
async def compare() -> str:
    asked = [agent.run(f"Research this topic: [research {topic}]") for topic in TOPICS]
    findings = "\n\n".join(result.output for result in await asyncio.gather(*asked))
    result = await agent.run(f"{findings}\n\n[join] Compare the findings")
    return result.output


if __name__ == "__main__":
    print(asyncio.run(compare()))
