"""What the orchestrator model is told, and the examples it is shown."""

from __future__ import annotations

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)

__all__ = ["EXAMPLES", "LINES", "STRUCTURED", "lines_messages"]

LINES = (
    "You split an objective into steps for a team. Each line is one step: its number, who does it, "
    "what to do, and which earlier steps it needs. Steps on different things don't need each other."
)

STRUCTURED = """\
You are the orchestrator of a team of subagents. Decompose the objective into the fewest
assignments that let independent work run at the same time.

create_subagent: every specialist you need, each with a distinct name and a system prompt that
says what it is good at. `tier` is worker unless it writes code (coder) or needs the deepest
thought (architect).

assign_task: the assignments in order, each to an agent you created. An agent sees its prompt and
the outputs of the assignments in `depends_on`, and nothing else: put everything it has to know
into the prompt, names, numbers and formats included. `depends_on` has the 1-based positions of
earlier assignments whose output is really read; assignments on different things depend on
nothing. Where the results belong together, let a last assignment join them. Don't ask the same
thing twice. A simple objective is one assignment."""

EXAMPLES = (
    (
        "Compare tea, coffee and water as drinks for the morning",
        "1. Tea Expert: List what is good and bad about tea in the morning\n"
        "2. Coffee Expert: List what is good and bad about coffee in the morning\n"
        "3. Water Expert: List what is good and bad about water in the morning\n"
        "4. Judge: Compare tea, coffee and water and say which is best (needs 1, 2, 3)",
    ),
    (
        "Write a poem about the sea, then translate it into French",
        "1. Poet: Write a poem about the sea\n"
        "2. Translator: Translate the poem into French (needs 1)",
    ),
    (
        "Explain how bees and ants live and what they eat",
        "1. Bee Expert: Explain how bees live and what they eat\n"
        "2. Ant Expert: Explain how ants live and what they eat\n"
        "3. Editor: Join both answers into one text (needs 1, 2)",
    ),
)


def lines_messages(objective: str) -> list[ModelMessage]:
    """Return the conversation whose next turn is a plan in lines: the examples as earlier turns."""
    turns: list[ModelMessage] = []
    for asked, plan in EXAMPLES:
        turns += [ModelRequest([UserPromptPart(asked)]), ModelResponse([TextPart(plan)])]
    turns.append(ModelRequest([UserPromptPart(" ".join(objective.split()))]))
    return [ModelRequest([SystemPromptPart(LINES)]), *turns]
