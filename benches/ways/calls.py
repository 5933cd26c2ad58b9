"""The model that all ways ask: it answers by a script, after a time that the request decides.

It writes a line before it answers, `asked NAME`, and one after, `answered NAME`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

__all__ = ["LETTERS", "MODEL", "ROUNDS", "ask", "noted_by", "seconds_of"]

LETTERS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
ROUNDS = 4
_SECONDS = {
    **{f"read {name}": 1 + n * 0.4 for n, name in enumerate(LETTERS)},
    "classify": 1.0,
    "find": 1.0,
    "compare": 1.5,
    "fix": 2.5,
    "report": 1.5,
    "draft": 1.5,
    "draft, again": 1.5,
    "judge": 1.5,
}
_PAPERS = [{"name": name, "score": 9 if n % 2 else 3} for n, name in enumerate(LETTERS)]
_NAMED = re.compile(r"do: ([\w “”]+)")
_say: list[Callable[[str], None]] = [lambda _: None]
_asked: Counter[str] = Counter()


def noted_by(say: Callable[[str], None]) -> None:
    """Have each call said from now on."""
    _say[:] = [say]


async def ask(prompt: str) -> str:
    """Answer a prompt."""
    name = _name_of(prompt)
    _asked[name] += 1
    _say[0](f"asked {name}")
    number = _asked[name]
    await asyncio.sleep(seconds_of(name, number))
    _say[0](f"answered {name}")
    return _answer(name, number)


def seconds_of(name: str, number: int = 1) -> float:
    """Return how long an answer takes; of like ones, such as samples, each takes longer."""
    if name.startswith("improve"):
        return 1.0
    if name == "write" or name.startswith("check"):
        return 0.5 * (1 + number)
    return _SECONDS.get(name, 0.0)


def _name_of(prompt: str) -> str:
    if "Try to refute" in prompt:
        return f"check version {2 if 'version 2' in prompt else 1}"
    if "Compare these results" in prompt:
        return "judge"
    found = _NAMED.findall(prompt)
    name = re.sub("[“”]", "", found[-1]).strip() if found else "answer"
    return f"{name}, again" if "was not accepted" in prompt else name


def _answer(name: str, number: int) -> str:
    match name.split():
        case ["classify"]:
            return json.dumps({"kind": "bug"})
        case ["find"]:
            return json.dumps(_PAPERS)
        case ["check", "version", version]:
            verdict = "accept" if version == "2" else "refuse"
            return json.dumps({"reasons": ["It says so."], "verdict": verdict})
        case ["improve", round_]:
            return json.dumps({"problems": ["one"] if int(round_) < ROUNDS else []})
        case ["judge"]:
            return json.dumps({"reasons": ["It says more."], "best": "A"})
        case ["draft,", "again"]:
            return "version 2"
        case ["draft"]:
            return "version 1"
        case _:
            # Samples differ, so that there is something to judge.
            return f"What came of it: {name}, {number}."


async def _respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    prompt = "\n".join(str(p.content) for p in last.parts if isinstance(p, UserPromptPart))
    return ModelResponse(parts=[TextPart(await ask(prompt))])


MODEL = FunctionModel(_respond)
