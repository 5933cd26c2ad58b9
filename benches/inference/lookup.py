"""Texts that are written alone, with guesses of what they repeat and without."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median

from prefect_swarm.models.llama import sampling as module_to_copy
from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest, Message
from prefect_swarm.models.llama.engine import Engine, close_engines, get_engine
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.prepared import weights_of

__all__ = ["lookup_section"]

ROUNDS = 5
TOKENS = 192
HEAD = """\

### Prompt lookup

How much faster is a text when what it repeats of its prompt, or of itself, is guessed and computed
together? Tokens a second at one slot, at most {tokens} tokens, {rounds} rounds in turns. The ratio
is their median, with the lowest and the highest. *Same text*: each round wrote the same both ways.

| Text | With guesses, tokens/s | Without | Ratio | Same text |
|---|---:|---:|---:|---|"""
PARTS = (
    "The harbour handles twelve million tonnes a year and lies at the mouth of the river.",
    "The airport served fifteen million people last year; the railway reaches it in half an hour.",
    "The university has twenty thousand students and an institute for the study of materials.",
)


def lookup_section() -> str:
    """Measure and return the section."""
    path = weights_of(demo_model_path())
    rows = asyncio.run(_rows(path))
    close_engines()
    return "\n".join([HEAD.format(tokens=TOKENS, rounds=ROUNDS), *rows])


def _requests() -> dict[str, GenerateRequest]:
    code = "\n".join(Path(str(module_to_copy.__file__)).read_text("utf-8").splitlines()[:70])
    joined = "\n\n".join(f"[S{n}]\n{text}" for n, text in enumerate(PARTS, 1))
    asked = {
        "a join of three texts": f"Join these texts and keep every sentence.\n\n{joined}",
        "a repair of a Python file": f"Correct this file and return all of it.\n\n{code}",
        "a story, sampled": "Tell a story about a fisher and a storm.",
    }
    return {name: _request(text, sampled="sampled" in name) for name, text in asked.items()} | {
        "code that goes on as it began": GenerateRequest(
            prompt=f"{code}\n\n# The same file again\n{code[:200]}",
            max_tokens=TOKENS,
            temperature=0,
            repeat_penalty=1.0,
        )
    }


def _request(text: str, *, sampled: bool) -> GenerateRequest:
    return GenerateRequest(
        messages=(Message("user", text),), max_tokens=TOKENS, temperature=0.8 if sampled else 0.0
    )


async def _rows(path: Path) -> list[str]:
    ways = [
        get_engine(path, EngineConfig(n_ctx=2048, n_slots=1, prompt_lookup=guessed))
        for guessed in (True, False)
    ]
    return [await _row(name, request, ways) for name, request in _requests().items()]


async def _row(name: str, request: GenerateRequest, ways: list[Engine]) -> str:
    for way in ways:
        await way.generate(request)
    rates: list[list[float]] = []
    texts: set[str] = set()
    for number in range(ROUNDS):
        pair: dict[int, float] = {}
        for way in (0, 1) if number % 2 else (1, 0):
            answer = await ways[way].generate(request)
            pair[way] = answer.output_tokens / answer.duration_s
            texts.add(answer.text)
        rates.append([pair[0], pair[1]])
    ratios = [with_guesses / without for with_guesses, without in rates]
    with_guesses, without = (median(side) for side in zip(*rates, strict=True))
    return (
        f"| {name} | {with_guesses:.0f} | {without:.0f} "
        f"| {median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}) "
        f"| {'yes' if len(texts) == 1 else 'no'} |"
    )
