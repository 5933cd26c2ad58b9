import sys
from pathlib import Path

from crewai import LLM, Agent
from crewai.flow import Flow, HumanFeedbackPending, HumanFeedbackProvider, human_feedback
from crewai.flow.flow import listen, start

writer = Agent(
    role="Writer",
    goal="Write notes",
    backstory="You write notes.",
    llm=LLM(model="scripted", provider="openai"),
)


class Later(HumanFeedbackProvider):
    def request_feedback(self, context, flow):
        raise HumanFeedbackPending(context=context)


class Publish(Flow):
    @start()
    @human_feedback(message="Publish this note?", provider=Later())
    async def draft(self):
        return (await writer.kickoff_async("[draft] Draft the note")).raw

    @listen(draft)
    async def publish(self, feedback):
        if feedback.feedback != "yes":
            return "It is not published."
        prompt = f"{feedback.output}\n\n[publish] Publish the note"
        return (await writer.kickoff_async(prompt)).raw


if sys.argv[1:]:
    print(Publish.from_pending(Path("waiting.txt").read_text()).resume(sys.argv[1]))
else:
    pending = Publish().kickoff()
    Path("waiting.txt").write_text(pending.context.flow_id)
    print(f"Flow {pending.context.flow_id} waits: {pending.context.method_output}")
