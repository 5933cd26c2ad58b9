"""Free text of a model that has tools, held to the turn's grammar and not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest, LocalTool, Message
from prefect_swarm.models.llama.engine import Engine, close_engines, get_engine
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.turn_grammar import turn_grammar

__all__ = ["turns_section"]

ROUNDS = 5
TOKENS = 192
HEAD = """\

### A turn with tools

Does the grammar that lets a model answer or call cost an answer its speed? The same prompt with
{tools} tools, {tokens} tokens at one slot, {rounds} rounds in turns. The ratio is their median,
with the lowest and the highest.

| Sampling | Under the grammar, tokens/s | Without, tokens/s | Ratio |
|---|---:|---:|---:|"""
_SETTINGS: Mapping[str, tuple[float, float]] = {
    "greedy, no penalty": (0.0, 1.0),
    "sampled, with a penalty": (0.7, 1.1),
}


def turns_section(rounds: int = ROUNDS) -> str:
    """Measure and return the section."""
    engine = get_engine(demo_model_path(), EngineConfig(n_ctx=4096, n_slots=1))
    rows = [asyncio.run(_row(engine, name, rounds)) for name in _SETTINGS]
    close_engines()
    return "\n".join([HEAD.format(tools=len(_tools()), tokens=TOKENS, rounds=rounds), *rows])


def _tools() -> tuple[LocalTool, ...]:
    schema = {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["query"],
    }
    return tuple(LocalTool(f"search_{name}", f"Search {name}.", schema) for name in _PLACES)


_PLACES = ("pages", "papers", "mails", "tickets", "code", "notes", "books", "maps")


async def _row(engine: Engine, name: str, rounds: int) -> str:
    temperature, penalty = _SETTINGS[name]
    tools = _tools()
    free = GenerateRequest(
        messages=(Message("user", "Tell a long story about a fisher and a storm."),),
        tools=tools,
        max_tokens=TOKENS,
        temperature=temperature,
        repeat_penalty=penalty,
    )
    turn = turn_grammar(tools, "plain", callable_names=frozenset(tool.name for tool in tools))
    held = replace(free, grammar=turn.grammar, leaves_text=turn.leaves_text)
    await engine.generate(free)
    pairs: list[tuple[float, float]] = []
    for number in range(rounds):
        rates = [
            await _rate(engine, each) for each in ((held, free) if number % 2 else (free, held))
        ]
        pairs.append((rates[0], rates[1]) if number % 2 else (rates[1], rates[0]))
    ratios = [under / without for under, without in pairs]
    under, without = (median(side) for side in zip(*pairs, strict=True))
    spread = f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
    return f"| {name} | {under:.0f} | {without:.0f} | {spread} |"


async def _rate(engine: Engine, request: GenerateRequest) -> float:
    answer = await engine.generate(request)
    return answer.output_tokens / answer.duration_s
