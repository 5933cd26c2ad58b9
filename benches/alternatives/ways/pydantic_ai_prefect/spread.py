import asyncio

from prefect import flow
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.durable_exec.prefect import PrefectDurability


class Found(BaseModel):
    items: list[str]


class Score(BaseModel):
    name: str
    score: int


MODEL = "openai-chat:scripted"
scout = Agent(MODEL, name="scout", output_type=Found, capabilities=[PrefectDurability()])
judge = Agent(MODEL, name="judge", output_type=Score, capabilities=[PrefectDurability()])
writer = Agent(MODEL, name="writer", capabilities=[PrefectDurability()])


@flow
async def compare() -> str:
    found = await scout.run("[find] List the things")
    asked = [judge.run(f"Score this thing: [item {item}]") for item in found.output.items]
    scores = "\n".join(r.output.model_dump_json() for r in await asyncio.gather(*asked))
    result = await writer.run(f"{scores}\n\n[join] Compare the scores")
    return result.output


if __name__ == "__main__":
    print(asyncio.run(compare()))
