"""Requests that were made before their attempt began: its task run takes the answer from here."""

from __future__ import annotations

import asyncio

from .request import SubagentRequest, SubagentResult

__all__ = ["answer_ahead", "drop_ahead", "give_ahead"]

_answers: dict[tuple[str, str], asyncio.Future[SubagentResult]] = {}
"""Answers, finished or under way, by flow run and what is asked. `flows/ahead/` puts them in; task
runs find them here, since what is under way can't be among a task run's parameters."""


def give_ahead(request: SubagentRequest, answer: asyncio.Future[SubagentResult]) -> None:
    """Let the task run of an equal request take this answer."""
    _answers[_name(request)] = answer


def drop_ahead(request: SubagentRequest) -> None:
    """Let no task run take it any more."""
    _answers.pop(_name(request), None)


async def answer_ahead(request: SubagentRequest) -> SubagentResult | None:
    """Return what the request was answered ahead of its plan; None if it wasn't made then.

    Whoever cancels this cancels the request.
    """
    answer = _answers.get(_name(request))
    return None if answer is None else await answer


def _name(request: SubagentRequest) -> tuple[str, str]:
    return request.run, request.content_hash()
