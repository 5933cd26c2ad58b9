"""The scripted models: a planner that follows good earlier plans, and subagents with rates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prefect_swarm.plan.task_ir import Tier
from prefect_swarm.text import tokens_of
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage
from wide_search.virtual_time import VirtualClock

from .family import GUESSED, PERSONAS, Asked, KindRates, chance, kind_of
from .house import total_of

__all__ = [
    "MODELS",
    "ORCHESTRATOR",
    "Answer",
    "Player",
    "PricedModel",
    "needs_followed",
    "system_prompt",
]

MODELS: Mapping[Tier, str] = {
    "worker": "gpt-4.1-nano",
    "coder": "gpt-4.1-mini",
    "architect": "gpt-4.1",
}
ORCHESTRATOR = "gpt-4.1-mini"
"""Whose prices the tiers and the orchestrator have."""
SLOWER: Mapping[Tier, float] = {"worker": 1.0, "coder": 1.3, "architect": 2.0}
PLANNING_S = 20.0


def system_prompt(persona: str) -> str:
    """Return the instructions of a persona: the planner writes them as its file has them."""
    return (
        f"You are the {persona} of the house. Work with the figures that you are given, say how "
        "you came to the result, and close with one line for each thing that is asked for."
    )


class PricedModel(FunctionModel):
    """A model in Python that has the price of one of OpenAI's."""

    @property
    def system(self) -> str:
        """Return whose price list it is on."""
        return "openai"


class Answer(NamedTuple):
    """A subagent's answer, its virtual seconds, and the tokens that it read and wrote.

    Attributes:
        name: Orders answers that are due at one moment.
    """

    text: str
    seconds: float
    name: str
    read: int
    written: int


@dataclass(slots=True)
class Player:
    """Plays all models of a run, one use after another.

    Attributes:
        is_timed: Whether planning takes virtual seconds.
        tries: Attempts at each kind of step in this use.
        failed: Who failed last at each kind by a wrong total, and on which tier.
    """

    seed: int
    clock: VirtualClock
    asked: Asked
    rates: Mapping[str, KindRates]
    is_timed: bool = True
    tries: Counter[str] = field(default_factory=Counter[str])
    failed: dict[str, tuple[str, Tier]] = field(default_factory=dict[str, tuple[str, Tier]])

    def begin(self, asked: Asked, rates: Mapping[str, KindRates]) -> None:
        """Begin a use."""
        self.asked, self.rates = asked, rates
        self.tries.clear()
        self.failed.clear()

    def models(self) -> dict[str, PricedModel]:
        """Return a model for each tier, and the orchestrator's."""

        def subagent(tier: Tier) -> PricedModel:
            async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
                return await self._work(tier, messages, info)

            return PricedModel(answer, model_name=MODELS[tier])

        models = {tier: subagent(tier) for tier in MODELS}
        return {**models, "orchestrator": PricedModel(self._plan, model_name=ORCHESTRATOR)}

    def answer(self, tier: Tier, instructions: str, shown: str) -> Answer:
        """Return what a subagent writes, how long that takes, and what it is paid for."""
        kind = kind_of(shown)
        rates = self.rates[kind]
        persona = next(name for name in PERSONAS if f"the {name} of" in instructions)
        self.tries[kind] += 1
        key = (self.seed, self.asked.number, kind, self.tries[kind])
        seconds = rates.seconds * SLOWER[tier] * (0.9 + 0.2 * chance("seconds", *key))
        knows = not rates.form or rates.form in shown or chance("form", *key) < GUESSED
        here = self.failed.get(kind) == (persona, tier)
        right = chance("total", *key) < rates.rate(persona, tier, failed_here=here)
        if knows and not right:
            self.failed[kind] = (persona, tier)
        prompt = self.asked.prompts[self.asked.job.parts.index(kind)]
        lines = [
            f"Done as asked, by the {persona}.",
            f"Form: {rates.form}" if rates.form and knows else "",
            f"Total: {total_of(prompt) + (0 if right else 10)}",
        ]
        text = "\n".join(filter(None, lines))
        return Answer(
            text,
            seconds,
            f"{kind} {self.tries[kind]}",
            rates.reads + tokens_of(instructions + shown),
            rates.writes + tokens_of(text),
        )

    async def _work(
        self, tier: Tier, messages: Sequence[ModelMessage], info: AgentInfo
    ) -> ModelResponse:
        answer = self.answer(tier, info.instructions or "", _said(messages))
        await self.clock.sleep(answer.seconds, answer.name)
        usage = RequestUsage(input_tokens=answer.read, output_tokens=answer.written)
        return ModelResponse([TextPart(answer.text)], usage=usage)

    def plan(self, shown: str) -> tuple[dict[str, Any], int]:
        """Return a plan's agents and steps, as a plan file has them, and the tokens it takes."""
        needs = needs_followed(shown, self.asked) or _own_needs(self.asked)
        steps: list[dict[str, Any]] = [
            {
                "id": f"S{number}",
                "agent": agent,
                "prompt": prompt,
                "depends_on": [f"S{needed + 1}" for needed in needed_here],
                "output": {"kind": "text"},
            }
            for number, (agent, prompt, needed_here) in enumerate(
                zip(self.asked.agents, self.asked.prompts, needs, strict=True), 1
            )
        ]
        agents = [
            {"name": name, "system_prompt": system_prompt(name)}
            for name in dict.fromkeys(self.asked.agents)
        ]
        plan = {"agents": agents, "steps": steps}
        return plan, tokens_of(str(plan))

    async def _plan(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        shown = _said(messages)
        if self.is_timed:
            await self.clock.sleep(PLANNING_S, "plan")
        plan, written = self.plan(shown)
        tasks = [
            {
                "agent": step["agent"],
                "prompt": step["prompt"],
                "depends_on": [int(name[1:]) for name in step["depends_on"]],
                "output": step["output"],
            }
            for step in plan["steps"]
        ]
        tools = [*info.function_tools, *info.output_tools]
        arguments = {"create_subagent": plan["agents"], "assign_task": tasks}
        return ModelResponse(
            [ToolCallPart(next(tool.name for tool in tools), arguments)],
            usage=RequestUsage(
                input_tokens=tokens_of((info.instructions or "") + shown), output_tokens=written
            ),
        )


def _own_needs(asked: Asked) -> list[list[int]]:
    """Return what each step needs as the planner sees it: the truth, or the step before it."""
    if asked.is_good:
        return [[*needed] for needed in asked.job.needs]
    return [[number - 1] if number else [] for number in range(len(asked.prompts))]


_EARLIER = re.compile(
    r"^  S\d+ “[^”]*”: “([^”]*)”(?: <- ((?:S\d+(?:, )?)+)( and \d+ more)?)?", re.MULTILINE
)


def needs_followed(shown: str, asked: Asked) -> list[list[int]] | None:
    """Return the needs of the first earlier plan that is shown, if it went well.

    None if none is shown, or it wasn't completed, or its steps aren't those of this job.
    """
    first = shown.partition("\n- Objective ")[2].partition("\n- Objective ")[0]
    if ": completed, " not in first.partition("\n")[0]:
        return None
    steps = _EARLIER.findall(first)
    if [kind_of(prompt) for prompt, _, _ in steps] != [*asked.job.parts]:
        return None
    # Where a step needs more than are named, it is the one that joins all.
    return [
        [*range(number)] if more else [int(name) - 1 for name in re.findall(r"\d+", needs)]
        for number, (_, needs, more) in enumerate(steps)
    ]


def _said(messages: Sequence[ModelMessage]) -> str:
    return "\n".join(
        part.content if isinstance(part.content, str) else str(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )
