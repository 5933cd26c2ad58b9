"""Plans of the embedded model, sampled once as its planner does, and stored in a file.

The first text of an objective is greedy. The further ones are drawn as one batch, and only where
they are asked for.
"""

from __future__ import annotations

import asyncio
import json
from functools import cached_property
from pathlib import Path

from prefect_swarm.errors import InputError
from prefect_swarm.files import write_atomically
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel, LlamaCppSettings
from prefect_swarm.tasks.planner.line_format import grammar, repetition_reason
from prefect_swarm.tasks.planner.planners import trained_messages
from pydantic_ai.direct import model_request

__all__ = ["Drawing"]

_TEMPERATURES = (0.0, 0.4, 0.6, 0.8, 0.8, 0.8)
_TOKENS = 640


class Drawing:
    """Draws texts with the embedded model and its adapter, each once.

    The greedy ones don't depend on the rules of repair; whether further ones are wanted does.
    """

    def __init__(self, cache: Path) -> None:
        """Take the file that keeps the texts; it is made where there is none.

        Raises:
            InputError: The file isn't one.
        """
        self._cache = cache
        self._texts: dict[str, list[str]] = {}
        if cache.exists():
            try:
                self._texts = json.loads(cache.read_text(encoding="utf-8"))
            except ValueError as error:
                raise InputError(f"{cache} keeps no texts: {error}.", "Remove it.") from None

    def first(self, objective: str) -> str:
        """Return the greedy text."""
        if objective not in self._texts:
            self._keep(objective, range(1))
        return self._texts[objective][0]

    def every(self, objective: str) -> tuple[str, ...]:
        """Return the greedy text and the further ones."""
        self.first(objective)
        if len(self._texts[objective]) == 1:
            self._keep(objective, range(1, len(_TEMPERATURES)))
        return tuple(self._texts[objective])

    def _keep(self, objective: str, numbers: range) -> None:
        async def draw() -> list[str]:
            return await asyncio.gather(*(self._draw(objective, number) for number in numbers))

        self._texts[objective] = [*self._texts.get(objective, ()), *asyncio.run(draw())]
        write_atomically(self._cache, json.dumps(self._texts, ensure_ascii=False, indent=1))

    @cached_property
    def _model(self) -> LlamaCppModel:
        return LlamaCppModel(demo_model_path(), planner_adapter="default")

    async def _draw(self, objective: str, number: int) -> str:
        settings = LlamaCppSettings(
            max_tokens=_TOKENS,
            temperature=_TEMPERATURES[number],
            seed=number,
            llamacpp_watch=repetition_reason,
            llamacpp_grammar=grammar(),
            llamacpp_adapter=str(self._model.planner_adapter),
        )
        answer = await model_request(
            self._model, trained_messages(objective), model_settings=settings
        )
        text = answer.text or ""
        if answer.finish_reason in ("length", "error"):
            # The line that was cut off says half a thing; the lines before it are whole.
            text = text.rpartition("\n")[0] or text
        return text
