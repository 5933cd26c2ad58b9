"""The inputs and the plan of a run, from its parameters or from code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from ..data_types import Frozen
from ..errors import InputError, PlanError
from ..inputs.reading import merged_inputs
from ..plan.procedure import ParameterValue, ProcedureBounds
from ..plan.procedure_steps import has_open_procedures, resolve
from ..plan.task_ir import StoredPlan, TaskIR, load_plan
from ..store.procedures import find_procedure
from ..store.protocol import RunStore
from .control import caller

__all__ = [
    "IN_FOLDER",
    "MOST_BYTES",
    "GivenPlan",
    "PlanReference",
    "inputs_digest",
    "keep_inputs",
    "keep_plan",
    "plan_of_run",
    "stored_inputs",
    "with_inputs",
    "within_limit",
]


def with_inputs(plan: TaskIR, inputs: Mapping[str, str]) -> TaskIR:
    """Return a plan with more inputs: texts by name, after the plan's own.

    Raises:
        PlanError: The plan has an input of that name already.
    """
    if twice := [name for name in inputs if name in plan.inputs]:
        raise PlanError(
            f"The plan has an input {twice[0]!r} of its own, and it is given too.",
            "Leave one of them out, or give it under another name.",
        )
    return plan.model_copy(update={"inputs": {**plan.inputs, **inputs}}) if inputs else plan


MOST_BYTES = 256 * 1024
"""What a flow run's parameters may take as JSON; less than any server refuses."""
IN_FOLDER = "/"
"""What stands for inputs that only the run's folder has: no input may be called so."""


class PlanReference(Frozen):
    """Where a plan is: in the run's folder, in a file of the worker, or in a procedure of its.

    Attributes:
        in_folder: The hash of its text.
        path: Its file.
        procedure: The procedure's name, with a version or without: `weekly-report@3`.
        parameters: The values of the procedure's parameters.
    """

    in_folder: str = ""
    path: str = ""
    procedure: str = ""
    parameters: dict[str, ParameterValue] = Field(default_factory=dict[str, ParameterValue])


class GivenPlan(Frozen):
    """The plan that a run was given, as its folder keeps it.

    Attributes:
        plan: The plan; None if the orchestrator writes one.
        bounds: What the run may take, where its options don't say it.
    """

    plan: StoredPlan | None = None
    bounds: ProcedureBounds = Field(default_factory=ProcedureBounds)


def within_limit(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as a server takes them: a large plan or large inputs become references.

    Pure. Other large values stay, for the server to refuse.
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


def keep_plan(run: RunStore, given: GivenPlan, source: object) -> None:
    """Write what a run is given into its folder, where the parameters may lack it.

    Args:
        source: What the flow's parameters have of it.

    Raises:
        StorageError: There is no room for it.
    """
    is_large = _bytes_of(given.plan) > MOST_BYTES / 4
    if is_large or _is_read_once(source):
        run.write_record("source_plan", given)


def _is_read_once(source: object) -> bool:
    """Whether what the parameters say of a plan may mean another one later."""
    is_open = isinstance(source, TaskIR) and has_open_procedures(source.steps)
    return is_open or isinstance(source, PlanReference)


def plan_of_run(run: RunStore, source: TaskIR | PlanReference | None, objective: str) -> GivenPlan:
    """Return the plan that a run was given; what its folder has comes before a file.

    Steps that are procedures have their steps inside: those of the version that was current when
    the run began.

    Raises:
        InputError: It isn't where the reference says, or a value of a parameter is wrong.
        PlanError: The file is not a plan, or a step can't be the procedure that it names.
        RunDamagedError: The run's folder has something else in its place.
    """
    if _is_read_once(source) and (stored := run.record("source_plan", GivenPlan)) is not None:
        return stored
    if not isinstance(source, PlanReference):
        return GivenPlan(plan=source and resolve(source, find_procedure))
    given = _referenced(run, source, objective)
    return given.model_copy(update={"plan": given.plan and resolve(given.plan, find_procedure)})


def _referenced(run: RunStore, source: PlanReference, objective: str) -> GivenPlan:
    if source.path:
        return GivenPlan(plan=load_plan(Path(source.path)))
    if source.procedure:
        found = find_procedure(source.procedure)
        # A deployment's runs have the objective of the deployment, whatever their values are.
        plan = found.filled(source.parameters).model_copy(update={"objective": objective})
        return GivenPlan(plan=plan, bounds=found.procedure.bounds)
    raise InputError(
        f"The plan of run {run.run_id} is too large for a flow run's parameters, and "
        f"{run.place()} doesn't have it.",
        "Run the plan anew. For a deployment, give the plan as the absolute path of a file.",
    )


def _bytes_of(value: object) -> int:
    content = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return len(json.dumps(content, default=str))


def inputs_digest() -> str:
    """Return what tells apart the texts that the code around gives to runs; "" if it gives none."""
    texts = caller().inputs
    if not texts:
        return ""
    return hashlib.sha256(json.dumps(dict(texts), sort_keys=True).encode()).hexdigest()[:16]


def keep_inputs(
    run: RunStore, parameter: Mapping[str, str] | None, read: Mapping[str, str]
) -> None:
    """Write what a run that begins is given into its folder.

    Args:
        run: The run's folder.
        parameter: What the flow run's parameters have.
        read: What was read of storages.

    Raises:
        InputError: A text can't be given under its name, or two have the same one.
        StorageError: There is no room for them.
    """
    if IN_FOLDER in (parameter or {}):
        raise InputError(
            f"The inputs of run {run.run_id} are too large for a flow run's parameters, and "
            f"{run.place()} doesn't have them.",
            "Run the objective anew, with its inputs.",
        )
    if texts := merged_inputs(parameter or {}, read, caller().inputs):
        run.write_inputs(texts)


def stored_inputs(run: RunStore) -> dict[str, str]:
    """Return what a run was given when it began.

    Raises:
        RunDamagedError: It can't be read any more.
    """
    return run.inputs()
