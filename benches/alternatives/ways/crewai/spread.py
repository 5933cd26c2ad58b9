import asyncio

from crewai import LLM, Agent
from crewai.flow.flow import Flow, listen, start
from pydantic import BaseModel


class Found(BaseModel):
    items: list[str]


class Score(BaseModel):
    name: str
    score: int


scout = Agent(
    role="Scout",
    goal="Find and score things",
    backstory="You find things and score them.",
    llm=LLM(model="scripted", provider="openai"),
)


class Compare(Flow):
    @start()
    async def find(self):
        found = await scout.kickoff_async("[find] List the things", response_format=Found)
        return found.pydantic.items

    @listen(find)
    async def score(self, items):
        asked = [
            scout.kickoff_async(f"Score this thing: [item {item}]", response_format=Score)
            for item in items
        ]
        return [result.pydantic.model_dump_json() for result in await asyncio.gather(*asked)]

    @listen(score)
    async def join(self, scores):
        result = await scout.kickoff_async("\n".join([*scores, "[join] Compare the scores"]))
        return result.raw


print(Compare().kickoff())
