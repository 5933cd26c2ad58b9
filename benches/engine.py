"""The local engine, one request at a time and several, and llama-cpp-python's own class."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import perf_counter, process_time
from typing import Any

from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest, usable_cores
from prefect_swarm.models.llama.engine import close_engines, get_engine
from prefect_swarm.models.llama.gguf import demo_model_path

__all__ = ["run"]

REQUESTS = 8
TOKENS = 32
SLOTS = (1, 4, 8)
REPEATS = 3
N_CTX = 1024
SHARED = "These are the rules that every answer has to keep to, whoever asks. " * 40
HEAD = f"""\
## Local engine

How much does the local engine gain from several requests at once? The embedded SmolLM2-135M on all
cores, {REQUESTS} requests of {TOKENS} tokens, greedy, the best of {REPEATS} rounds in turns.
*Short* prompts have about ten tokens, *shared* ones begin with the same {{beginning:,}} or so.

| | Short, tokens/s | CPU ms a token | Shared, tokens/s | CPU ms a token | Prompt tokens computed |
|---|---:|---:|---:|---:|---:|"""


@dataclass(frozen=True, slots=True, order=True)
class Taken:
    """What one round took: wall and CPU seconds, tokens written, prompt tokens computed."""

    seconds: float
    cpu: float
    written: int
    computed: int

    def __str__(self) -> str:
        return f"{self.written / self.seconds:.0f} | {1000 * self.cpu / self.written:.1f}"


Way = Callable[[str], Taken]


def run() -> str:
    """Measure every way and return the table."""
    ways: dict[str, Way] = {"llama-cpp-python's class, one at a time": _class}
    for slots in SLOTS:
        ways[f"the engine, {slots} at a time"] = _engine(slots)
    short, shared = _best(ways, ""), _best(ways, SHARED)
    close_engines()
    rows = [
        f"| {name} | {short[name]} | {shared[name]} | {shared[name].computed:,} |" for name in ways
    ]
    beginning = len(_model().tokenize(SHARED.encode()))
    return "\n".join([HEAD.format(beginning=beginning), *rows])


def _best(ways: dict[str, Way], beginning: str) -> dict[str, Taken]:
    # A number of its own in front: no round finds the last one's prompts in a cache.
    rounds = [
        {name: way(f"{number} {beginning}") for name, way in ways.items()}
        for number in range(REPEATS)
    ]
    return {name: min(times[name] for times in rounds) for name in ways}


def _prompts(beginning: str) -> list[str]:
    return [f"{beginning}Once upon a time there were {number}" for number in range(REQUESTS)]


def _engine(slots: int) -> Way:
    engine = get_engine(demo_model_path(), EngineConfig(n_ctx=N_CTX, n_slots=slots))

    async def ask_all(beginning: str) -> Taken:
        await engine.generate(GenerateRequest(prompt="Load.", max_tokens=1))
        start, cpu = perf_counter(), process_time()
        answers = await asyncio.gather(
            *(
                engine.generate(GenerateRequest(prompt=text, max_tokens=TOKENS, temperature=0))
                for text in _prompts(beginning)
            )
        )
        return Taken(
            perf_counter() - start,
            process_time() - cpu,
            sum(answer.output_tokens for answer in answers),
            sum(answer.input_tokens - answer.cached_tokens for answer in answers),
        )

    return lambda beginning: asyncio.run(ask_all(beginning))


def _class(beginning: str) -> Taken:
    model = _model()
    start, cpu = perf_counter(), process_time()
    written = computed = 0
    for text in _prompts(beginning):
        tokens = model.tokenize(text.encode())
        # It keeps the last prompt's beginning by itself.
        computed += len(tokens) - model.longest_token_prefix(model._input_ids, tokens[:-1])
        done = model.create_completion(tokens, max_tokens=TOKENS, temperature=0, repeat_penalty=1.0)
        written += done["usage"]["completion_tokens"]
    return Taken(perf_counter() - start, process_time() - cpu, written, computed)


@cache
def _model() -> Any:
    # The engine's library first: it decides for the process how threads wait.
    from prefect_swarm.models.llama import library

    assert library.lib
    import llama_cpp

    threads = usable_cores()
    return llama_cpp.Llama(
        str(demo_model_path()),
        n_ctx=N_CTX,
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )


if __name__ == "__main__":
    print(run())
