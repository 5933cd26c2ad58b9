"""Reasoning that a model writes into its text, taken off the front. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ThinkingPart
from pydantic_ai.models import ModelRequestParameters

from .usage import REASONED, noted

__all__ = [
    "IN_TEXT",
    "NO_TAGS",
    "HarmonyMessage",
    "Reasoned",
    "harmony_messages",
    "split_reasoning",
    "take_reasoning",
]


_HEADER = re.compile(
    r"(?:<\|start\|>assistant(?P<to>[^<]{0,200}))?<\|channel\|>(?P<channel>[a-z]{1,20})"
    r"(?P<more>[^<]{0,300})(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_END = re.compile(r"(?:<\|(?:end|call|return|start)\|>\s{0,9}){1,9}\Z")
_LONGEST_END = 100
_RECIPIENT = re.compile(r"to=(\S{1,200})")
# The same where a server has left out the marks and not the words between them.
_BARE_ANALYSIS, _BARE_FINAL = re.compile(r"analysis(?=[A-Z\s])"), "assistantfinal"
_BARE_CALL = re.compile(
    r"(?:assistant)?commentary to=(?P<to>[\w.:-]{1,200})\s{1,10}(?:code|json)?\s{0,10}(?=\{)"
)


@dataclass(frozen=True, slots=True)
class HarmonyMessage:
    """A message of an answer: its channel, whom it is for ("" is the reader), and its text."""

    channel: str
    recipient: str
    text: str


def harmony_messages(text: str) -> list[HarmonyMessage]:
    """Return the messages that a text consists of; none if it doesn't begin as one of them."""
    text = text.strip()
    headers = list(_HEADER.finditer(text)) if "<|channel|>" in text[:400] else []
    if not headers or headers[0].start():
        return _bare(text)
    ends = [*(header.start() for header in headers[1:]), len(text)]
    return [
        _message(header, text[header.end() : end])
        for header, end in zip(headers, ends, strict=True)
    ]


def _message(header: re.Match[str], body: str) -> HarmonyMessage:
    recipient = _RECIPIENT.search(f"{header['to'] or ''} {header['more']}")
    end = body[-_LONGEST_END:]
    body = body[: len(body) - len(end)] + _END.sub("", end)
    return HarmonyMessage(header["channel"], recipient[1] if recipient else "", body.strip())


def _bare(text: str) -> list[HarmonyMessage]:
    messages: list[HarmonyMessage] = []
    if opened := _BARE_ANALYSIS.match(text):
        thought, mark, final = text[opened.end() :].partition(_BARE_FINAL)
        if mark:
            return [HarmonyMessage("analysis", "", thought), HarmonyMessage("final", "", final)]
        thought, mark, rest = text[opened.end() :].partition("assistantcommentary to=")
        if not mark:
            return []
        messages, text = [HarmonyMessage("analysis", "", thought)], f"commentary to={rest}"
    if call := _BARE_CALL.match(text):
        return [*messages, HarmonyMessage("commentary", call["to"], text[call.end() :])]
    return []


IN_TEXT = "content"
"""The id of reasoning that stood in a text; pydantic-ai has the same."""
NO_TAGS = ("<prefect-swarm:no-such-tag>", "</prefect-swarm:no-such-tag>")
"""Taken for tags of reasoning by clients, which would cut texts at them wherever they stand."""

_NAME = (
    r"(?:[a-z]{1,10}:|ant|deep|inner_|internal_|longcat_)?"
    r"(?:think|thinking|thoughts?|reasoning|reason|reflection|scratch_?pad|analysis|monologue"
    r"|(?:thinking|thought|reasoning)_process|chain_of_thought|cot)"
)
_OPEN_TAG = re.compile(rf"<({_NAME})(?:\s[^<>]{{0,100}})?>", re.I)
_OPENINGS = {
    "◁think▷": "◁/think▷",
    "[THINK]": "[/THINK]",
    "<|thinking|>": "<|/thinking|>",
    "<|think|>": "<|/think|>",
    "<|think_start|>": "<|think_end|>",
    "<|begin_thinking|>": "<|end_thinking|>",
    "<|reasoning|>": "<|/reasoning|>",
    "<｜begin▁of▁thinking｜>": "<｜end▁of▁thinking｜>",
    "<START_THINKING>": "<END_THINKING>",
    "[REASONING]": "[/REASONING]",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "<unused94>thought": "<unused95>",
    "Here is my thought process:": "Here is my response:",
}
_CLOSINGS = ("</think>", "</thinking>", "</thought>", "</reasoning>", "</seed:think>")
_OTHER_CLOSINGS = ("◁/think▷", "[/THINK]", "<|END_THINKING|>")
_ANSWERS = {
    "<answer>": "</answer>",
    "<response>": "</response>",
    "<|begin_of_solution|>": "<|end_of_solution|>",
    "<|START_RESPONSE|>": "<|END_RESPONSE|>",
}
"""What some models put around the answer behind their reasoning."""
_MOST_BLOCKS = 50
_ELEMENTS = ("analysis", "reason", "reflection", "scratchpad")
"""Tags that are elements of documents, too: with nothing behind them they are the answer."""
_BEGINS_ANSWER = ("{", "[", "```", "<tool_call", "<function", "\n\n", "\r\n\r\n")


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A text without its reasoning, the reasoning, and the mark that it was known by."""

    text: str
    reasoning: str = ""
    mark: str = ""


def split_reasoning(text: str) -> Reasoned:
    """Return a text without the reasoning at its front; `mark` is "" if it has none."""
    if messages := harmony_messages(text):
        return _of_channels(messages)
    rest, thoughts, mark = text.lstrip(), list[str](), ""
    for _ in range(_MOST_BLOCKS):
        if not (opened := _opening(rest)):
            break
        opening, closing = opened
        mark = mark or opening
        thought, closed, rest = _cut(rest[len(opening) :], closing)
        thoughts.append(thought.strip())
        rest = rest.lstrip() if closed else ""
        if not rest and opening.strip("<>").casefold() in _ELEMENTS:
            return Reasoned(text)
    # Behind a block it ends what the block had within it: a block of its own, or words about it.
    if (bare := _bare_closing(rest)) is not None:
        thought, closing, rest = _cut(rest, bare)
        mark = mark or closing
        thoughts.append(thought.strip())
    if not mark:
        return Reasoned(text)
    return Reasoned(_unwrapped(rest.strip()), "\n\n".join(filter(None, thoughts)), mark)


def take_reasoning(answer: ModelResponse, _: ModelRequestParameters) -> ModelResponse:
    """Take the reasoning off the front of an answer's text and make it a part of its own."""
    parts = _with_tags_again(answer.parts)
    place = next(
        (n for n, p in enumerate(parts) if isinstance(p, TextPart) and p.content.strip()), -1
    )
    first = parts[place] if place >= 0 else None
    if not isinstance(first, TextPart) or not (found := split_reasoning(first.content)).mark:
        return answer if parts == list(answer.parts) else replace(answer, parts=parts)
    provider = answer.provider_name
    thinking = ThinkingPart(
        found.reasoning, id=IN_TEXT if provider else None, provider_name=provider
    )
    made: list[ModelResponsePart] = [thinking] if found.reasoning else []
    if found.text:
        made.append(replace(first, content=found.text))
    parts[place : place + 1] = made
    return noted(replace(answer, parts=parts), REASONED, found.mark)


def _with_tags_again(parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
    """Undo what pydantic-ai takes for reasoning in the middle of a text: it is a part of that."""
    made: list[ModelResponsePart] = []
    is_cut = False
    for part in parts:
        last = made[-1] if made else None
        if isinstance(last, TextPart) and last.content.strip():
            if isinstance(part, ThinkingPart) and part.id == IN_TEXT:
                made[-1] = replace(last, content=f"{last.content}<think>{part.content}</think>")
                is_cut = True
                continue
            if isinstance(part, TextPart) and is_cut:
                made[-1] = replace(last, content=last.content + part.content)
                continue
        made.append(part)
        is_cut = False
    return made


def _of_channels(messages: list[HarmonyMessage]) -> Reasoned:
    """Return what is for the reader; where that is nothing, a call stays as it was written."""
    thoughts = [m.text for m in messages if m.channel == "analysis" and not m.recipient]
    finals = [m.text for m in messages if m.channel != "analysis" and not m.recipient]
    calls = [
        f"<|channel|>{m.channel} to={m.recipient}<|message|>{m.text}<|call|>"
        for m in messages
        if m.recipient
    ]
    mark = "<|channel|>analysis" if thoughts else "<|channel|>"
    text = "\n\n".join(filter(None, [*finals, *calls]))
    return Reasoned(text, "\n\n".join(filter(None, thoughts)), mark)


def _opening(text: str) -> tuple[str, str] | None:
    """Return the mark that a text begins with, and the one that ends what it begins."""
    if tag := _OPEN_TAG.match(text):
        return tag[0], f"</{tag[1]}>"
    return next((pair for pair in _OPENINGS.items() if text.startswith(pair[0])), None)


def _cut(text: str, mark: str) -> tuple[str, str, str]:
    """Cut a text at a mark in whatever case; the mark is "" where there is none."""
    place = text.find(mark)
    if place < 0:
        found = re.search(re.escape(mark), text, re.I)
        place = found.start() if found else -1
    if place < 0:
        return text, "", ""
    return text[:place], mark, text[place + len(mark) :]


def _bare_closing(text: str) -> str | None:
    """Return the mark that ends reasoning whose beginning stood in the prompt.

    It is the only one, outside code, and begins its line or stands right before an answer.
    """
    for mark in (*_CLOSINGS, *_OTHER_CLOSINGS):
        before, found, after = text.partition(mark)
        opening = mark.replace("/", "", 1).replace("END", "START", 1)
        if not found or mark in after or opening in text:
            continue
        at_beginning = not before.rpartition("\n")[2].strip()
        is_before_answer = after.startswith(_BEGINS_ANSWER) and bool(after.strip())
        in_code = before.count("```") % 2 == 1 or before.endswith("`") or after.startswith("`")
        if (at_beginning or is_before_answer) and not in_code:
            return mark
    return None


def _unwrapped(text: str) -> str:
    for opening, closing in _ANSWERS.items():
        if text.startswith(opening) and text.find(closing) == len(text) - len(closing):
            return text[len(opening) : -len(closing)].strip()
    return text
