import subprocess
import sys
from pathlib import Path

from crewai import LLM, Agent, Crew, Task

TEST = "from add import add\nassert add(2, 3) == 5, add(2, 3)\n"


def check(output):
    Path("add.py").write_text(output.raw)
    Path("test.py").write_text(TEST)
    run = subprocess.run([sys.executable, "test.py"], capture_output=True, text=True, timeout=30)
    return (False, run.stderr) if run.returncode else (True, output.raw)


developer = Agent(
    role="Developer",
    goal="Write Python",
    backstory="You write Python that passes its tests.",
    llm=LLM(model="scripted", provider="openai"),
)
write = Task(
    description="[coding] Write a Python function add(a, b) that returns the sum. Code alone.",
    expected_output="Python code",
    agent=developer,
    guardrail=check,
)
print(Crew(agents=[developer], tasks=[write]).kickoff())
