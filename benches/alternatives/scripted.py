"""The model of all jobs: it answers by the mark in a prompt, after a time, and keeps what it did.

A mark is `[kind]` or `[kind name]`. The last one of a request's messages says what is asked.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from provider_server import Asked, Reply

__all__ = ["INPUT_TOKENS", "JOBS", "OUTPUT_TOKENS", "Request", "Scripted"]

JOBS = ("research", "spread", "coding", "approval", "kill")
"""Twelve steps and a join; what a step finds, then a join; code; a person; kill -9."""
LATENCY_S = 2.0
INPUT_TOKENS, OUTPUT_TOKENS = 7321, 4187
"""Of each request. No other number that is stored is likely to be one of them."""
FOUND = ("amber", "birch", "cedar", "dahlia", "elm", "fern")
BAD_ITEM = "cedar"
BAD_VALUE = "unclear"
"""What stands where a number was asked for, in the first answer about `BAD_ITEM`."""
WRONG_CODE = "def add(a, b):\n    return a - b\n"
RIGHT_CODE = "def add(a, b):\n    return a + b\n"
_MARK = re.compile(r"\[(research|find|item|join|coding|draft|publish)(?: \W*(\w+)\W*)?\]")
"""A name may be quoted."""
_SEEN_FAILURE = re.compile(r"-1\b|AssertionError")


@dataclass(frozen=True)
class Request:
    """One request; `answered_s` is None while it is under way. Seconds of `time.monotonic`."""

    key: str
    asked_s: float
    answered_s: float | None
    bad_input: bool
    """Whether it holds the bad value of another step's answer."""


class Scripted:
    """Answers requests of a job."""

    def __init__(self, job: str, *, latency_s: float = LATENCY_S) -> None:
        self._job = job
        self._latency_s = latency_s
        self._lock = threading.Lock()
        self._requests: list[Request] = []

    @property
    def requests(self) -> list[Request]:
        """What was asked so far, in the order of arrival."""
        with self._lock:
            return list(self._requests)

    @property
    def answered(self) -> int:
        """How many requests have their answer."""
        return sum(request.answered_s is not None for request in self.requests)

    def reply(self, asked: Asked) -> Reply:
        """Answer a request after its time."""
        kind, name = mark(asked.texts)
        key = f"{kind} {name}".strip()
        with self._lock:
            before = sum(request.key == key for request in self._requests)
            place = len(self._requests)
            bad_input = kind == "join" and BAD_VALUE in "\n".join(asked.texts)
            self._requests.append(Request(key, time.monotonic(), None, bad_input))
        # Apart by a second, so that a kill finds some answered and some not.
        time.sleep(float(name) if self._job == "kill" and kind == "research" else self._latency_s)
        with self._lock:
            now = self._requests[place]
            self._requests[place] = Request(now.key, now.asked_s, time.monotonic(), now.bad_input)
        text = answer(kind, name, before, asked.texts)
        is_data = kind in {"find", "item"} and bool(asked.body.get("tools"))
        return Reply(
            text="" if is_data else text,
            tool_args=json.loads(text) if is_data else None,
            input_tokens=INPUT_TOKENS,
            output_tokens=OUTPUT_TOKENS,
        )


def mark(texts: Sequence[str]) -> tuple[str, str]:
    """Return the last mark's kind and name; nothing of either where there is none."""
    marks = [found.groups("") for text in texts for found in _MARK.finditer(text)]
    return (marks[-1][0], marks[-1][1]) if marks else ("", "")


def answer(kind: str, name: str, before: int, texts: Sequence[str]) -> str:
    """Return what the model says.

    Args:
        kind: The kind of the mark.
        name: The name in the mark.
        before: How often the same was asked before.
        texts: The messages; code is right once they hold the failure of the wrong one.
    """
    if kind == "find":
        return json.dumps({"items": list(FOUND)})
    if kind == "item":
        bad = name == BAD_ITEM and before == 0
        return json.dumps({"name": name, "score": BAD_VALUE if bad else len(name)})
    if kind == "coding":
        seen = any(_SEEN_FAILURE.search(text) for text in texts)
        return RIGHT_CODE if before and seen else WRONG_CODE
    return f"The finding of {kind} {name or 'all'} is long and plain."
