"""Answers that still have the marks of OpenAI's harmony format: channels and recipients. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["HarmonyMessage", "harmony_messages"]

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
    if begun := _BARE_ANALYSIS.match(text):
        thought, mark, final = text[begun.end() :].partition(_BARE_FINAL)
        if mark:
            return [HarmonyMessage("analysis", "", thought), HarmonyMessage("final", "", final)]
        thought, mark, rest = text[begun.end() :].partition("assistantcommentary to=")
        if not mark:
            return []
        messages, text = [HarmonyMessage("analysis", "", thought)], f"commentary to={rest}"
    if call := _BARE_CALL.match(text):
        return [*messages, HarmonyMessage("commentary", call["to"], text[call.end() :])]
    return []
