"""Where runs lie on disk: one folder a run, each file written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from .errors import RunNotFoundError
from .result import StepResult, SwarmResult
from .settings import home

__all__ = ["RunFolder", "find_run", "run_id_of"]


def run_id_of(flow_run_id: str) -> str:
    """Return the short name of a run: the first twelve digits of its flow run's id."""
    return flow_run_id.replace("-", "")[:12]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run's folder.

    `run.json` names the flow run and objective, `plan.json` is the compiled plan, `outputs/S1.txt`
    a step's whole output, `transcripts/S1.1.json` an attempt's messages, `steps/S1.json` a step
    with its attempts so far, `result.json` the result.
    """

    folder: Path

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(flow_run_id: str) -> RunFolder:
        """Return the folder of that flow run; nothing is made yet.

        Remembered, because reading the settings takes longer than a small write does.
        """
        return RunFolder(home() / "runs" / run_id_of(flow_run_id))

    @property
    def run_id(self) -> str:
        """The short name."""
        return self.folder.name

    def write(self, name: str, content: str | BaseModel | dict[str, Any] | list[Any]) -> str:
        """Write a file of the run and return its reference, the path below the runs' home."""
        if isinstance(content, BaseModel):
            content = content.model_dump_json(indent=2)
        elif not isinstance(content, str):
            content = json.dumps(content, indent=2)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
        Path(temporary).replace(path)
        return f"{self.run_id}/{name}"

    def read(self, name: str) -> str | None:
        """Return a file's text; None where there is none."""
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def about(self) -> dict[str, Any]:
        """Return `run.json`: `flow_run_id`, `objective` and when the run was first started."""
        return json.loads(self.read("run.json") or "{}")

    def result(self) -> SwarmResult | None:
        """Return the stored result; None if the run has not ended."""
        text = self.read("result.json")
        return SwarmResult.model_validate_json(text) if text else None

    def write_step(self, step: StepResult) -> None:
        """Write down how far a step is."""
        self.write(f"steps/{step.id}.json", step)

    def steps(self) -> tuple[StepResult, ...]:
        """The steps that were begun or are over, as they were when an attempt last ended."""
        texts = [path.read_text(encoding="utf-8") for path in self._files("steps", "json")]
        return tuple(map(StepResult.model_validate_json, texts))

    def begun_again(self) -> dict[str, int]:
        """How often each step was begun again; those that never were are left out."""
        return json.loads(self.read("again.json") or "{}")

    def begin_again(self, result: SwarmResult) -> None:
        """Let the steps that failed in this result be tried again, and put the result away.

        What failed for want of a key, a server or time would else fail again from the cache.
        """
        failed = [step.id for step in result.steps if step.attempts and step.status != "succeeded"]
        before = self.begun_again()
        self.write("again.json", before | {step: before.get(step, 0) + 1 for step in failed})
        for step in result.steps:
            if step.status != "succeeded":
                (self.folder / f"steps/{step.id}.json").unlink(missing_ok=True)
        (self.folder / "result.json").unlink()

    def finished_steps(self) -> tuple[str, ...]:
        """Ids of the steps whose outputs are stored, in the order of their numbers."""
        return tuple(path.stem for path in self._files("outputs", "txt"))

    def _files(self, folder: str, suffix: str) -> list[Path]:
        """The files that a folder has for steps, in the order of the steps' numbers."""
        found = (self.folder / folder).glob(f"S*.{suffix}")
        return sorted(found, key=lambda path: int(path.stem[1:]))


def find_run(name: str) -> RunFolder:
    """Find a run by its id or its flow run's id.

    Raises:
        RunNotFoundError: There is none, or its files can't be read.
    """
    root = home() / "runs"
    run = RunFolder(root / run_id_of(name.strip()))
    if not name.strip() or not (run.folder / "run.json").is_file():
        known = sorted(path.parent.name for path in root.glob("*/run.json"))
        advice = (
            f"The last ones are {', '.join(known[-5:])}." if known else "There are no runs yet."
        )
        raise RunNotFoundError(f"No run {name!r} is stored in {root}.", advice)
    try:
        flow_run_id = str(run.about().get("flow_run_id", ""))
        run.result()
        run.steps()
    except (json.JSONDecodeError, ValidationError) as error:
        raise RunNotFoundError(
            f"The files of run {name!r} in {run.folder} are damaged: {error}.",
            "Remove the damaged file; resuming the run writes it again.",
        ) from None
    if name.strip() not in (run.run_id, flow_run_id, flow_run_id.replace("-", "")):
        raise RunNotFoundError(
            f"Run {run.run_id} in {root} is flow run {flow_run_id}, not {name!r}.",
            "Check the name.",
        )
    return run
