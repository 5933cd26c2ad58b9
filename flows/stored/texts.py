"""What attempts were sent and what they answered, as a run's transcripts have it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from ...errors import RunDamagedError
from ...result import StepResult
from ...runs import RunFolder
from ...tasks.report.view import AttemptView
from ...text import without_surrogates

__all__ = ["attempt_views"]

_Message = Mapping[str, Any]
_NOTHING: _Message = {}
_NO_TEXTS: list[str] = []


def attempt_views(run: RunFolder, step: StepResult, output: str | None) -> tuple[AttemptView, ...]:
    """Return what each attempt of a step was sent and answered, as far as it is stored.

    Args:
        run: The run's folder.
        step: The step, with its attempts so far.
        output: What the step made: of several samples, the one that has it is shown.
    """
    return tuple(
        _view(attempt.number, _transcripts(run, f"{step.id}.{attempt.number}"), output or "")
        for attempt in step.attempts
    )


def _view(number: int, transcripts: Iterable[list[_Message]], output: str) -> AttemptView:
    views = [
        AttemptView(
            number=number,
            instructions=_instructions(messages),
            sent=_sent(messages),
            answered=_answered(messages),
        )
        for messages in transcripts
    ]
    made = [view for view in views if output.strip() and output.strip() in view.answered]
    return next(iter([*made, *views]), AttemptView(number=number))


def _transcripts(run: RunFolder, name: str) -> Iterator[list[_Message]]:
    """Yield the messages of an attempt, or of each of its samples; a damaged file has none."""
    samples: list[str] = []
    with suppress(RunDamagedError):
        samples = [
            each for each in run.names("transcripts", ".json") if each.startswith(f"{name}.")
        ]
    names = {f"{name}.json": None} | dict.fromkeys(sorted(samples, key=lambda s: (len(s), s)))
    for file in names:
        with suppress(RunDamagedError, ValueError, RecursionError):
            found: object = without_surrogates(
                json.loads(run.read(f"transcripts/{file}") or "null")
            )
            if isinstance(found, list):
                messages = cast("list[object]", found)
                yield [cast("_Message", each) for each in messages if isinstance(each, dict)]


def _instructions(messages: Iterable[_Message]) -> str:
    requests = [each for each in messages if each.get("kind") == "request"]
    first = requests[0] if requests else _NOTHING
    own = first.get("instructions")
    system = [*([own] if isinstance(own, str) else []), *_texts(first, "system-prompt")]
    return "\n".join(system)


def _sent(messages: Iterable[_Message]) -> str:
    """What the first request asked: later ones of the same attempt only add results of tools."""
    asked = (_texts(each, "user-prompt") for each in messages if each.get("kind") == "request")
    return "\n".join(next((texts for texts in asked if texts), _NO_TEXTS))


def _answered(messages: Iterable[_Message]) -> str:
    answers = [_texts(each, "text") for each in messages if each.get("kind") == "response"]
    return "".join(answers[-1]) if answers else ""


def _texts(message: _Message, kind: str) -> list[str]:
    found: object = message.get("parts")
    parts = cast("list[object]", found) if isinstance(found, list) else []
    known = (cast("Mapping[str, Any]", part) for part in parts if isinstance(part, dict))
    texts = (part.get("content") for part in known if part.get("part_kind") == kind)
    return [text for text in texts if isinstance(text, str)]
