"""Sessions of the pages: files in their folder, and answers of their models."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from docs_pages import ROOT, blocks, page_path
from documented.stand_in import answer
from provider_server import Asked, Reply
from recorded_plans import recorded_plans

__all__ = ["SESSIONS", "Session", "pretending"]

_LONGEST_S = 30.0


@dataclass(frozen=True, slots=True)
class Session:
    """A page's.

    Attributes:
        reply: What its models answer.
        example: A folder of examples whose files lie in the reader's.
        files: Files that lie there, with their texts.
        scene: What was run before; its run stands for ids that no command has printed.
        codes: The exit codes that aren't 0, by expressions for the commands.
    """

    reply: Callable[[Asked], Reply] = answer
    example: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    scene: str = "nothing"
    codes: Mapping[str, int] = field(default_factory=dict[str, int])

    def lay_out(self, folder: Path) -> None:
        """Put the files into a folder."""
        if self.example:
            shutil.copytree(ROOT / "examples" / self.example, folder, dirs_exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text, "utf-8")

    def code_of(self, command: str) -> int:
        """Return the exit code that is right for a command."""
        found = (code for pattern, code in self.codes.items() if re.fullmatch(pattern, command))
        return next(found, 0)


def _mills(asked: Asked) -> Reply:
    """Answer as the models of the README's first run, and of its papers."""
    if re.search("paper|verdict", asked.prompt):
        return pretending(asked)
    plan = next(each for each in recorded_plans() if each.name.startswith("market_research")).plan
    return Reply(tool_args=plan) if asked.is_plan else answer(asked)


_PRETENDED = runpy.run_path(str(ROOT / "examples" / "tools" / "pretend_model.py"))


def pretending(asked: Asked) -> Reply:
    """Answer as the tutorials' program that pretends to be a model."""
    tools = {tool["function"]["name"]: tool for tool in asked.body.get("tools") or []}
    message: dict[str, Any] = _PRETENDED["message"](asked.body["messages"], tools)
    if calls := message.get("tool_calls"):
        call = calls[0]["function"]
        return Reply(tool_args=call["arguments"], tool_name=call["name"])
    return Reply(message["content"])


def _text_of(page: str, language: str = "json") -> str:
    """Return the file that a page has its reader write."""
    [text] = blocks(page_path(page).read_text("utf-8"), language)
    return text


@dataclass
class _WritesSlowly:
    """The end of its plan comes once a step of what is complete of it was asked for."""

    asked: threading.Event = field(default_factory=threading.Event)

    def __call__(self, asked: Asked) -> Reply:
        if not asked.is_plan:
            self.asked.set()
            return answer(asked)
        reply = answer(asked)
        last = len(json.dumps(reply.tool_args)) // reply.piece

        def hold(number: int) -> None:
            assert number < last or self.asked.wait(_LONGEST_S)

        return replace(reply, before_piece=hold)


def _drinks(asked: Asked) -> Reply:
    """Plan what the example's cases are about; a haiku has a single line."""
    if not asked.is_plan:
        return Reply("Rain falls on tea and coffee.")
    prompts = ["Write it."] if "haiku" in asked.prompt else ["Describe tea.", "Compare both."]
    steps = [{"agent": "Writer", "prompt": prompt} for prompt in prompts]
    writer = {"name": "Writer", "system_prompt": "You write."}
    return Reply(tool_args={"create_subagent": [writer], "assign_task": steps})


_LEAFLETS = {
    "four sentences": "The Great Barrier Reef Lighthouse is a testament to the resilience and "
    "ingenuity of the people who built it.",
    "two sentences": "The Great Barrier Reef Lighthouse is a beautiful piece of art that has been "
    "built by people all over the world.",
    "lamp and its lens": "The light from a lighthouse is made of glass, and it's designed to "
    "reflect sunlight in a way that sailors see.",
}


def _lighthouses(asked: Asked) -> Reply:
    """Answer as the embedded model did when the page was written."""
    last = asked.prompt.splitlines()[-1]
    return Reply(next((text for words, text in _LEAFLETS.items() if words in last), "It is old."))


def _travels(asked: Asked) -> Reply:
    """Answer as a model that is fond of ways to travel."""
    ways = {
        "Describe trains.": "A train is a remarkable",
        "Describe buses.": "A bus is a versatile",
    }
    text = next((text for words, text in ways.items() if words in asked.prompt), "Both are")
    return answer(asked) if asked.is_plan else Reply(f"{text} way to travel.")


_WRONG = "def slugify(title):\n    return title.lower()\n"
_RIGHT = """import re


def slugify(title):
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))
"""
_SCRIPT = """#!/bin/bash
python3 -c 'import sys; from slug import slugify; print(slugify(sys.argv[1]))' "$1"
"""


def _slugs(asked: Asked) -> Reply:
    """Write a function that is wrong at first."""
    if "bash script" in asked.prompt:
        return Reply(f"```bash\n{_SCRIPT}```")
    if "makes a title lower case" not in asked.prompt:
        return Reply("```python\ndef test_nothing():\n    assert True\n```")
    was_told = "gave 'hello, world!'" in json.dumps(asked.body["messages"])
    return Reply(f"```python\n{_RIGHT if was_told else _WRONG}```")


_SLUG = """def slugify(title):
  return "-".join(title.lower().split())


def test_slugify():
    assert slugify("Hello, World!") == "hello-world"
"""
_SINGLE = json.dumps(
    {
        "objective": "Describe trains",
        "agents": [{"name": "Writer", "system_prompt": "You write."}],
        "steps": [{"id": "S1", "agent": "Writer", "prompt": "Describe trains."}],
    }
)
SESSIONS: Mapping[str, Session] = MappingProxyType(
    {
        "README.md": Session(reply=_mills),
        "docs/background/planning.md": Session(reply=_WritesSlowly()),
        "docs/how-to/approval.md": Session(scene="plan waits", codes={"prefect-swarm run .*": 4}),
        "docs/how-to/evaluate.md": Session(reply=_drinks, codes={"prefect-swarm eval .*": 1}),
        "docs/how-to/fork.md": Session(
            reply=_lighthouses, codes={"prefect-swarm fork [0-9a-f]{12}": 2}
        ),
        "docs/how-to/tools.md": Session(example="tools"),
        "docs/reference/events.md": Session(reply=_travels, files={"plan.json": _SINGLE}),
        "docs/reference/failures.md": Session(reply=_slugs),
        "docs/reference/gates.md": Session(
            files={"slug.py": _SLUG, "some.py": "a = 1\n"},
            codes={"prefect-swarm gates .*": 1},
        ),
        "docs/tutorials/approve_and_edit.md": Session(
            reply=pretending,
            files={"steps.json": _text_of("approve_and_edit.md")},
            codes={
                "prefect-swarm (run|fork) .*": 4,
                "prefect-swarm reject .*": 3,
            },
        ),
        "docs/tutorials/fix_bugs.md": Session(
            reply=pretending,
            example="bugs",
            codes={"prefect-swarm run .*": 4, "python -m pytest .*test_shop.*": 1},
        ),
        "docs/tutorials/find_then_spread.md": Session(
            reply=pretending, files={"bricks.yaml": _text_of("find_then_spread.md", "yaml")}
        ),
        "docs/tutorials/own_model.md": Session(
            reply=pretending, codes={"prefect-swarm run .*--max-usd.*": 2}
        ),
        "docs/tutorials/own_plan.md": Session(
            reply=pretending,
            files={"plan.json": _text_of("own_plan.md")},
            codes={"prefect-swarm run .*": 4},
        ),
        "docs/tutorials/repeatable.md": Session(
            example="ledger", codes={"prefect-swarm run --procedure .*13.*": 3}
        ),
        "docs/tutorials/mcp_tools.md": Session(
            reply=pretending, example="tools", codes={"prefect-swarm run .*acting.*": 4}
        ),
    }
)
"""Sessions that need something; a page that isn't here needs nothing."""
