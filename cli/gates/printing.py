"""What `gates check` prints of a file's gate pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..output.printing import print_json, print_section, print_table, print_text

if TYPE_CHECKING:
    from ...gates import GateResult, PipelineResult

__all__ = ["show_result"]


def show_result(
    file: Path, pipeline_result: PipelineResult, unchecked: Mapping[str, str], *, as_json: bool
) -> None:
    """Print each gate's result, and whether the file passed.

    Args:
        unchecked: Gates that were asked for and skipped, each with why.
    """
    if as_json:
        passed = pipeline_result.stopped_by is None and not unchecked
        results = [result.model_dump(mode="json") for result in pipeline_result.results]
        content = {"file": str(file), "passed": passed, "unchecked": dict(unchecked)}
        print_json({**content, "gates": results})
        return
    print_table(("Gate", "Status", "Took", "Category", "By"), map(_row, pipeline_result.results))
    for result in pipeline_result.results:
        _print_findings(result)
    print_text("")
    if pipeline_result.stopped_by:
        print_text(f"Stopped by {pipeline_result.stopped_by.gate}.")
    for gate, why in unchecked.items():
        print_text(f"Not passed: {gate} was asked for and skipped ({why}).")
    if not pipeline_result.stopped_by and not unchecked:
        print_text("Passed.")


def _row(result: GateResult) -> tuple[str, ...]:
    return (
        result.gate,
        result.status + ("" if result.required else " (optional)"),
        f"{result.duration_s:.2f} s" + (" (known)" if result.cached else ""),
        result.category or "",
        result.version,
    )


def _print_findings(result: GateResult) -> None:
    if result.diagnostics:
        print_section(f"{result.gate}: {result.status}")
        for diagnostic in result.diagnostics:
            print_text(str(diagnostic))
    if result.diff:
        print_section(f"{result.gate}: repaired")
        print_text(result.diff)
