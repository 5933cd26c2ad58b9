"""The files that a run makes, by their paths: its answer and the artifact of each step. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from ..gates.python.layout import file_blocks
from ..plan.ids import root_of
from ..plan.made import MADE_SUFFIXES, Made, is_instance, made_by
from ..plan.output import is_patch
from ..plan.task_ir import final_step
from ..store.result import SwarmResult
from ..store.step import StepState

__all__ = ["artifact_files", "extra_files", "with_pictures"]


_NAME_CHARS = 40
_NOT_IN_NAMES = re.compile(r"[\W_]+")


def artifact_files(
    result: SwarmResult, outputs: Mapping[str, str], *, is_json: bool = False
) -> dict[str, str]:
    """Return the files that a run makes, by their paths in the folder. Pure.

    The answer is `answer.md`, or has the suffix of the kind of the step that it is the output of;
    all patches of a run together are `answer.patch`. A step's artifact is named after its id and
    agent: `S1-physicist.py`. A table that was joined is CSV. An artifact of kind `files` is a
    folder of that name, with the files in it.

    Args:
        result: How the run ended.
        outputs: The whole outputs of its steps, by their ids.
        is_json: Whether the answer was asked for as JSON.
    """
    lists = {step.parent for step in result.steps if is_instance(step.id)}
    files: dict[str, str] = {}
    last = result.plan.final_step or final_step(result.plan.steps)
    if result.answer.strip():
        is_last = last is not None and outputs.get(last, "").strip() == result.answer.strip()
        made = made_by(result.plan.steps, last, lists) if last is not None and is_last else "text"
        # Of several patches the answer is one, whatever else was asked for.
        made = "patch" if is_patch(result.answer) else "json" if is_json else made
        files[f"answer{MADE_SUFFIXES[made]}"] = result.answer
    for step in result.steps:
        if step.id in outputs:
            made = made_by(result.plan.steps, step.id, lists)
            files |= _artifact(step, made, outputs[step.id])
    return files


def extra_files(
    steps: Iterable[StepState], tool_files: Mapping[str, Mapping[str, bytes]]
) -> dict[str, bytes]:
    """Return the files that steps left with their tools, by their paths in the folder. Pure.

    Those of a step lie in a folder that is named after its id and agent: `S1-physicist-files`.

    Args:
        steps: The steps of the run.
        tool_files: Files by their paths, by the ids of their steps.
    """
    return {
        f"{_name(step)}-files/{path}": data
        for step in steps
        for path, data in tool_files.get(step.id, {}).items()
    }


def with_pictures(
    files: Mapping[str, bytes], pictures: Mapping[str, bytes | None]
) -> dict[str, bytes]:
    """Add to the files that a step left the pictures that its calls returned, each once. Pure.

    Args:
        files: The files by their paths.
        pictures: What is in the pictures, by their names; None of one that is gone.
    """
    left = {*files.values()}
    returned = {name: data for name, data in pictures.items() if data and data not in left}
    return {**returned, **files}


def _name(step: StepState) -> str:
    words = _NOT_IN_NAMES.sub("-", step.agent.lower()).strip("-")[:_NAME_CHARS].rstrip("-")
    name = f"{step.id}-{words}" if words else step.id
    # Members lie in a folder, or what the plan's own steps made would be lost among them.
    return f"{root_of(step.id)}/{name}" if step.parent else name


def _artifact(step: StepState, made: Made, text: str) -> dict[str, str]:
    name = _name(step)
    if made == "files":
        paths = {block.path: block.text for block in file_blocks(text).files}
        if paths and all(map(_is_inside, paths)):
            return {f"{name}/{path}": content for path, content in paths.items()}
    return {f"{name}{MADE_SUFFIXES[made]}": text}


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return bool(path) and not parts.is_absolute() and ".." not in parts.parts
