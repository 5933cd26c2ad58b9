"""Answers as OpenAI's clients read them: whole, or in chunks."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..blocks.llama import GeneratedText, LocalToolCall
from ..blocks.llama.tools import HeldText, ParsedAnswer, parse_answer

__all__ = ["ChatAnswer", "chat_answer", "usage_of"]


def chat_answer(
    done: GeneratedText, names: Collection[str], *, model: str, created: int
) -> dict[str, Any]:
    """Return the body of a whole answer.

    Args:
        done: What the model wrote.
        names: The tools it was offered.
        model: What the client calls it.
        created: Seconds since 1970.
    """
    parsed = parse_answer(done.text, names)
    message: dict[str, Any] = {"role": "assistant", "content": parsed.text}
    if parsed.calls:
        message["content"] = parsed.text or None
        message["tool_calls"] = [_call(call) for call in parsed.calls]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _finish(done, parsed),
    }
    return {
        **_head("chat.completion", _new_id("chatcmpl"), model, created),
        "choices": [choice],
        "usage": usage_of(done),
    }


def usage_of(done: GeneratedText) -> dict[str, Any]:
    """Return the tokens of an answer."""
    return {
        "prompt_tokens": done.input_tokens,
        "completion_tokens": done.output_tokens,
        "total_tokens": done.input_tokens + done.output_tokens,
        "prompt_tokens_details": {"cached_tokens": done.cached_tokens},
    }


@dataclass
class ChatAnswer:
    """An answer in chunks.

    Attributes:
        names: The tools that the model was offered; calls are in the last chunks.
        model: What the client calls it.
        created: Seconds since 1970.
        usage: Whether a last chunk has the tokens.
    """

    names: Collection[str]
    model: str
    created: int
    usage: bool
    _id: str = field(default_factory=lambda: _new_id("chatcmpl"))
    _held: HeldText = field(default_factory=HeldText)

    def begin(self) -> dict[str, Any]:
        """Return the first chunk."""
        return self._chunk({"role": "assistant", "content": ""})

    def add(self, piece: str) -> Iterator[dict[str, Any]]:
        """Yield the chunks that a piece of text makes possible."""
        fresh = self._held.add(piece) if self.names else piece
        if fresh:
            yield self._chunk({"content": fresh})

    def end(self, done: GeneratedText) -> Iterator[dict[str, Any]]:
        """Yield the last chunks."""
        parsed = parse_answer(done.text, self.names)
        if self.names and (rest := self._held.rest(parsed)):
            yield self._chunk({"content": rest})
        for number, call in enumerate(parsed.calls):
            yield self._chunk({"tool_calls": [{"index": number, **_call(call)}]})
        yield self._chunk({}, _finish(done, parsed))
        if self.usage:
            yield {**self._head(), "choices": [], "usage": usage_of(done)}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._head(), "choices": [choice]}

    def _head(self) -> dict[str, Any]:
        return _head("chat.completion.chunk", self._id, self.model, self.created)


def _head(kind: str, name: str, model: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": kind, "created": created, "model": model}


def _call(call: LocalToolCall) -> dict[str, Any]:
    return {
        "id": call.id or _new_id("call"),
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _finish(done: GeneratedText, parsed: ParsedAnswer) -> str:
    return "tool_calls" if parsed.calls and done.finish == "stop" else done.finish


def _new_id(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(12)}"
