"""Answers to requests that were made ahead of a plan, in the run's folder."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from ...errors import Category, RunDamagedError
from ...runs import RunFolder
from ...tasks.subagent.request import SubagentRequest, SubagentResult

__all__ = ["ahead_key", "is_ahead", "is_kept_ahead", "store_answer", "stored_answer"]

_logger = logging.getLogger("prefect_swarm.runs")
_MARK = ".ahead."


def ahead_key(request: SubagentRequest) -> str:
    """Return the key that a request is paid for under while its plan has none."""
    return f"{request.run}{_MARK}{_name(request)}"


def store_answer(run: RunFolder, request: SubagentRequest, result: SubagentResult) -> None:
    """Keep an answer; what a provider didn't answer is asked again."""
    if result.category is not Category.UNAVAILABLE:
        run.store(_file(_name(request)), result)


def stored_answer(run: RunFolder, request: SubagentRequest) -> SubagentResult | None:
    """Return what a request was answered, in this process or an earlier one."""
    return _read(run, _name(request))


def is_ahead(key: str) -> bool:
    """Say whether a call, by its key in the accounts, was made ahead of its plan."""
    return _MARK in key


def is_kept_ahead(run: RunFolder, key: str) -> bool:
    """Say whether a call, by its key in the accounts, was made ahead and its answer is kept."""
    _, mark, name = key.partition(_MARK)
    return bool(mark) and _read(run, name.rpartition(".")[0]) is not None


def _read(run: RunFolder, name: str) -> SubagentResult | None:
    try:
        text = run.read(_file(name))
        return None if text is None else SubagentResult.model_validate_json(text)
    except (RunDamagedError, ValidationError):
        _logger.warning("%s is damaged. The step is asked again.", run.folder / _file(name))
        return None


def _name(request: SubagentRequest) -> str:
    return f"{request.step}.{request.content_hash()}"


def _file(name: str) -> str:
    return f"ahead/{name}.json"
