"""What the orchestrator model is told, and the examples that an untrained one is shown."""

from __future__ import annotations

import re

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)

from .enumerations import listed_items

__all__ = ["LINES", "STRUCTURED", "TRAINED", "examples", "lines_messages", "trained_messages"]

TRAINED = "Split the objective into steps."
"""All that a model is told that was trained to plan: it has the rest from its training."""

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
thing twice. A simple objective is one assignment.

output: what an assignment produces, and what of it the objective settles: example calls of code
with their values, a JSON Schema, headings, bounds on words, a form. All of it is checked, and an
output that doesn't keep to it is refused: state nothing that the prompt doesn't say as well."""

Example = tuple[str, str]

_ONE = (
    ("What is the longest river in Asia?", "1. Geographer: Say what the longest river in Asia is"),
    ("Write a letter to my aunt", "1. Writer: Write a letter to my aunt"),
    ("Explain how a motor works", "1. Engineer: Explain how a motor works"),
)
_PARALLEL = (
    (
        "Write a shop sign for bread, cheese, fish and fruit",
        "1. Bread Writer: Write a shop sign for bread\n"
        "2. Cheese Writer: Write a shop sign for cheese\n"
        "3. Fish Writer: Write a shop sign for fish\n"
        "4. Fruit Writer: Write a shop sign for fruit",
    ),
    (
        "Describe the work of a baker and a miner",
        "1. Baker: Describe the work of a baker\n2. Miner: Describe the work of a miner",
    ),
    (
        "1. Draw a house 2. Draw a boat 3. Draw a tree",
        "1. House Artist: Draw a house\n2. Boat Artist: Draw a boat\n3. Tree Artist: Draw a tree",
    ),
)
_CHAIN = (
    (
        "Find the leak in the roof and repair it",
        "1. Finder: Find the leak in the roof\n2. Roofer: Repair the leak in the roof (needs 1)",
    ),
    (
        "Collect facts about bees, write a report from them and give it a title",
        "1. Researcher: Collect facts about bees\n"
        "2. Writer: Write a report from the facts about bees (needs 1)\n"
        "3. Editor: Give the report about bees a title (needs 2)",
    ),
    (
        "Write a poem about the sea, then translate it into French, then count its verbs",
        "1. Poet: Write a poem about the sea\n"
        "2. Translator: Translate the poem into French (needs 1)\n"
        "3. Counter: Count the verbs of the French poem (needs 2)",
    ),
)
_JOIN = (
    (
        "Explain iron and gold and join both into one article",
        "1. Iron Expert: Explain iron\n"
        "2. Gold Expert: Explain gold\n"
        "3. Editor: Join the texts on iron and gold into one article (needs 1, 2)",
    ),
    (
        "Should we travel by train or by plane? Look at both and decide",
        "1. Train Expert: Say what speaks for the train\n"
        "2. Plane Expert: Say what speaks for the plane\n"
        "3. Judge: Decide between train and plane (needs 1, 2)",
    ),
    (
        "Compare tea, coffee and water as drinks for the morning",
        "1. Tea Expert: Describe tea as a drink for the morning\n"
        "2. Coffee Expert: Describe coffee as a drink for the morning\n"
        "3. Water Expert: Describe water as a drink for the morning\n"
        "4. Judge: Compare tea, coffee and water as drinks for the morning (needs 1, 2, 3)",
    ),
)
_ALWAYS = (_ONE[0], _CHAIN[0], _PARALLEL[1], _JOIN[0])

_JOINS = re.compile(
    r"\b(?:advise|against|best|better|choose|compare|conclu\w+|decide|join\w*|judge|or|rank"
    r"|sum\b.*\bup|verdict|versus|vs|weigh|which)\b",
    re.IGNORECASE,
)
_CHAINS = re.compile(r"\b(?:then|afterwards|finally|its?|them)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:^|\s)(?:[-*•]|1[.)])\s")


def examples(objective: str) -> tuple[Example, ...]:
    """Return an example of every kind of plan, and last the ones whose objective reads alike.

    A small model copies the shape of what it saw last.
    """
    if not listed_items(objective):
        near = _ONE
    elif _NUMBERED.search(objective):
        near = _PARALLEL
    elif _JOINS.search(objective):
        near = _JOIN
    elif _CHAINS.search(objective):
        near = _CHAIN
    else:
        near = _PARALLEL
    return (*(example for example in _ALWAYS if example not in near), *near)


def lines_messages(objective: str) -> list[ModelMessage]:
    """Return the conversation whose next turn is a plan in lines: the examples as earlier turns."""
    turns: list[ModelMessage] = []
    for asked, plan in examples(objective):
        turns += [ModelRequest([UserPromptPart(asked)]), ModelResponse([TextPart(plan)])]
    turns.append(ModelRequest([UserPromptPart(" ".join(objective.split()))]))
    return [ModelRequest([SystemPromptPart(LINES)]), *turns]


def trained_messages(objective: str) -> list[ModelMessage]:
    """Return the conversation whose next turn is a trained model's plan; no examples.

    Training writes its prompts with this, so that a model is asked as it was taught.
    """
    lines = (" ".join(line.split()) for line in objective.strip().splitlines())
    return [ModelRequest([SystemPromptPart(TRAINED), UserPromptPart("\n".join(lines))])]
