"""The local engine as the bench asks it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter

from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest
from prefect_swarm.models.llama.engine import close_engines, get_engine

from .workload import Ask, Rates, Setting

__all__ = ["EngineWay"]


class EngineWay:
    """An engine in this process, with its model loaded."""

    def __init__(self, path: Path, setting: Setting, *, deterministic: bool = False) -> None:
        self._engine = get_engine(
            path,
            EngineConfig(n_ctx=setting.n_ctx, n_slots=setting.slots, deterministic=deterministic),
        )

    async def answer(self, ask: Ask) -> Rates:
        """Send all requests of a round at once, and wait for the last answer."""
        start = perf_counter()
        answers = await asyncio.gather(
            *(self._engine.generate(_request(ask, prompt)) for prompt in ask.prompts)
        )
        return Rates(sum(answer.output_tokens for answer in answers), perf_counter() - start)

    @staticmethod
    def close() -> None:
        """Free the memory."""
        close_engines()


def _request(ask: Ask, prompt: str) -> GenerateRequest:
    return GenerateRequest(
        prompt=prompt,
        max_tokens=ask.tokens,
        temperature=ask.temperature,
        top_k=40,
        top_p=0.95,
        repeat_penalty=1.0,
        grammar=ask.grammar,
    )
