"""Conversations as the tokens that are served: the planner's prompt, the engine's tokenizer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...blocks.llama.api import EngineConfig
from ...blocks.llama.chat import ChatTemplate
from ...blocks.llama.gguf import check_model_file
from ...blocks.llama.messages import to_chat
from ...blocks.llama.native import Native
from ...errors import InputError, ModelError
from ...tasks.planner.adapter.planner import trained_messages
from .batches import TokenizedExample

__all__ = ["encode", "pieces"]


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
