"""Examples as tokens, and several of them packed into one batch without padding.

All examples begin with the same system prompt. A batch computes that prefix once, which its
examples' tokens attend to, and so saves an eighth of the work.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import takewhile
from pathlib import Path

import torch
from torch import Tensor

from ...errors import InputError, ModelError
from ...models.llama.api import EngineConfig
from ...models.llama.chat import ChatTemplate, to_chat
from ...models.llama.gguf import check_model_file
from ...models.llama.native import Native
from ...tasks.planner.planners import trained_messages

__all__ = ["Batch", "TokenizedExample", "batches", "encode", "pack", "pieces"]


@dataclass(frozen=True)
class TokenizedExample:
    """One conversation: the prompt's tokens, and those of the plan with its end."""

    prompt: tuple[int, ...]
    plan: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.plan)


@dataclass(frozen=True)
class Batch:
    """Rows of packed tokens: first the prefix that all examples share, then example by example.

    Attributes:
        tokens: (rows) token ids.
        positions: (rows) each token's place in its own example.
        prefix: Rows of the shared prefix.
        pad: (examples, longest) the row of each example's n-th own token, past its end any row.
        unpad: (rows - prefix) where those rows are in `pad`, flattened.
        mask: (longest, prefix + longest) what an own token adds to its attention scores.
        rows: (targets) rows from which a token of a plan is predicted.
        targets: (targets) those tokens.
        size: Tokens of all examples, the prefix counted for each.
    """

    tokens: Tensor
    positions: Tensor
    prefix: int
    pad: Tensor
    unpad: Tensor
    mask: Tensor
    rows: Tensor
    targets: Tensor
    size: int

    def on(self, device: torch.device) -> Batch:
        """The same rows on a device."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return replace(self, **{name: x.to(device) for name, x in values if isinstance(x, Tensor)})


def batches(
    examples: Sequence[TokenizedExample], budget: int, seed: int | None
) -> Iterator[list[TokenizedExample]]:
    """Deal examples into batches of at most `budget` tokens, each at least one example.

    Args:
        seed: Of the order; None keeps it.
    """
    order = list(examples)
    if seed is not None:
        random.Random(seed).shuffle(order)  # noqa: S311 - no secret depends on it
    batch: list[TokenizedExample] = []
    size = 0
    for example in order:
        if batch and size + len(example) > budget:
            yield batch
            batch, size = [], 0
        batch.append(example)
        size += len(example)
    if batch:
        yield batch


def pack(examples: Sequence[TokenizedExample]) -> Batch:
    """Pack at least one example."""
    prefix = _common([example.prompt for example in examples])
    tokens: list[int] = [*examples[0].prompt[:prefix]]
    positions = list(range(prefix))
    rows: list[int] = []
    targets: list[int] = []
    longest = max(map(len, examples)) - prefix - 1
    pad = torch.full((len(examples), longest), prefix)
    unpad: list[int] = []
    for number, example in enumerate(examples):
        start = len(tokens)
        # The last token is only predicted.
        own = [*example.prompt[prefix:], *example.plan[:-1]]
        tokens += own
        positions += range(prefix, prefix + len(own))
        first = len(tokens) - len(example.plan)
        rows += range(first, len(tokens))
        targets += example.plan
        pad[number, : len(own)] = torch.arange(start, start + len(own))
        unpad += range(number * longest, number * longest + len(own))
    return Batch(
        tokens=torch.tensor(tokens),
        positions=torch.tensor(positions),
        prefix=prefix,
        pad=pad,
        unpad=torch.tensor(unpad),
        mask=torch.full((longest, prefix + longest), -torch.inf).triu(prefix + 1),
        rows=torch.tensor(rows),
        targets=torch.tensor(targets),
        size=sum(map(len, examples)),
    )


def _common(prompts: Sequence[tuple[int, ...]]) -> int:
    """Tokens with which all prompts begin; the last of each stays its own."""
    most = min(map(len, prompts)) - 1
    same = takewhile(lambda n: len({prompt[n] for prompt in prompts}) == 1, range(most))
    return sum(1 for _ in same)


def encode(pairs: Iterable[tuple[str, str]], base: Path) -> list[TokenizedExample]:
    """Turn (objective, plan) pairs into tokens.

    Raises:
        ModelError: The model file can't be loaded or has no chat template.
        InputError: A plan's first token would melt into the prompt's last.
    """
    native = Native(check_model_file(base), EngineConfig(n_ctx=64, n_slots=1))
    try:
        if (source := native.chat_template) is None:
            raise ModelError(
                f"The model file {base} has no chat template.", "Give a model tuned for chat."
            )
        template = ChatTemplate(source, bos=native.bos, eos=native.eos)
        return [_encode(objective, plan, native, template) for objective, plan in pairs]
    finally:
        native.close()


def pieces(base: Path) -> tuple[bytes, ...]:
    """The bytes of every token, by its number; none for a special one.

    Raises:
        ModelError: The model file can't be loaded.
    """
    native = Native(check_model_file(base), EngineConfig(n_ctx=64, n_slots=1))
    try:
        return tuple(native.piece(token) for token in range(native.n_vocab))
    finally:
        native.close()


def _encode(objective: str, plan: str, native: Native, template: ChatTemplate) -> TokenizedExample:
    text = template.render(to_chat(trained_messages(objective)))
    prompt = native.tokenize(text)
    whole = native.tokenize(text + plan + native.eos)
    if whole[: len(prompt)] != prompt:
        raise InputError(f"The plan begins as no token does: {plan[:40]!r}.", "Write `1. Name: …`.")
    return TokenizedExample(tuple(prompt), tuple(whole[len(prompt) :]))
