"""Plans that the parameters of a flow run only name: large ones, and files on a worker.

A Prefect server takes parameters of 512 KiB at most. What is larger is handed to the flow in its
process all the same; the server has a reference, and the run's folder has the plan.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ...errors import InputError
from ...frozen import Frozen
from ...runs import RunFolder
from ...task_ir import StoredPlan, TaskIR, load_plan

__all__ = ["IN_FOLDER", "MOST_BYTES", "PlanReference", "given_plan", "keep_plan", "within_limit"]

MOST_BYTES = 256 * 1024
"""What a flow run's parameters may take as JSON; less than any server refuses."""
IN_FOLDER = "/"
"""What stands for inputs that only the run's folder has: no input may be called so."""
_FILE = "given_plan.json"


class PlanReference(Frozen):
    """Where a plan is: in the run's folder, by the hash of its text, or in a file of the worker."""

    in_folder: str = ""
    path: str = ""


class _KeptPlan(Frozen):
    plan: StoredPlan


def within_limit(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as a server takes them: a large plan or large inputs become references.

    Pure. What is large besides stays, for the server to refuse.
    """
    short = dict(parameters)
    if _bytes_of(short) > MOST_BYTES and _bytes_of(short.get("plan")) > len(IN_FOLDER):
        digest = hashlib.sha256(json.dumps(short["plan"]).encode()).hexdigest()[:16]
        reference = PlanReference(in_folder=digest).model_dump(mode="json", exclude_defaults=True)
        if _bytes_of(reference) < _bytes_of(short["plan"]):
            short["plan"] = reference
    if _bytes_of(short) > MOST_BYTES and short.get("inputs"):
        short["inputs"] = {IN_FOLDER: "They are in the run's folder."}
    return short


def keep_plan(run: RunFolder, plan: TaskIR, given: object) -> None:
    """Write a plan that a run is given into its folder, where the parameters may lack it.

    Args:
        given: What the flow's parameters have of it.

    Raises:
        StorageError: There is no room for it.
    """
    if isinstance(given, PlanReference) or _bytes_of(plan.model_dump(mode="json")) > MOST_BYTES / 4:
        run.write(_FILE, _KeptPlan(plan=plan))


def given_plan(run: RunFolder, given: TaskIR | PlanReference | None) -> TaskIR | None:
    """Return the plan that a run was given; what its folder has comes before a file.

    Raises:
        InputError: It isn't where the reference says.
        PlanError: The file is no plan.
        RunDamagedError: The run's folder has something else in its place.
    """
    if not isinstance(given, PlanReference):
        return given
    if kept := run.read_json(_FILE):
        try:
            return _KeptPlan.model_validate(kept).plan
        except ValidationError:
            problem = f"{run.folder / _FILE} is damaged."
            raise InputError(problem, "Run the plan anew.") from None
    if given.path:
        return load_plan(Path(given.path))
    raise InputError(
        f"The plan of run {run.run_id} is too large for a flow run's parameters, and "
        f"{run.folder} doesn't have it.",
        "Run the plan anew. For a deployment, give the plan as the absolute path of a file.",
    )


def _bytes_of(value: object) -> int:
    content = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return len(json.dumps(content, default=str))
