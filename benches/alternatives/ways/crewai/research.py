from pathlib import Path

from crewai import LLM, Agent, CheckpointConfig, Crew, Task

TOPICS = [str(number) for number in range(1, 13)]


# An agent works on one task at a time: those that run side by side need one each.
def researcher(topic):
    return Agent(
        role=f"Researcher of {topic}",
        goal="Research one topic",
        backstory="You research one topic at a time.",
        llm=LLM(model="scripted", provider="openai"),
    )


research = [
    Task(
        description=f"Research this topic: [research {topic}]",
        expected_output="A finding",
        agent=researcher(topic),
        async_execution=True,
    )
    for topic in TOPICS
]
join = Task(
    description="[join] Compare the findings",
    expected_output="A comparison",
    agent=researcher("all topics"),
    context=research,
)
tasks = [*research, join]
crew = Crew(agents=[task.agent for task in tasks], tasks=tasks, checkpoint=True)
saved = sorted(Path(".checkpoints").rglob("*.json"), key=lambda path: path.stat().st_mtime)
latest = CheckpointConfig(restore_from=saved[-1]) if saved else None
print(crew.kickoff(from_checkpoint=latest))
