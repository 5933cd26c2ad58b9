"""`prefect-swarm gates`: the gates there are, and their pipeline on any file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ExitCode, InputError, SwarmError
from ..files import read_text
from ..plan.task_ir import Output, OutputKind, PlanRules, load_plan
from .command import AsJson, command
from .terminal.printing import print_json, print_section, print_table, print_text

if TYPE_CHECKING:
    from ..gates import GateResult, PipelineResult

__all__ = ["gates_app", "show_result"]


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


_KINDS: dict[str, OutputKind] = {
    ".py": "python",
    ".sh": "shell",
    ".bash": "shell",
    ".json": "json",
    ".txt": "text",
    ".md": "text",
}

gates_app = typer.Typer(no_args_is_help=True, help="The checks that artifacts have to pass.")


def list_gates(as_json: AsJson = False) -> int:
    """List all gates, including those of other packages."""
    from ..gates import DEFAULT_GATES, gate_name, gates

    rows: list[dict[str, str]] = []
    for gate in gates().values():
        try:
            version = gate.version()
        except SwarmError as error:
            version = str(error)
        kinds = [
            kind for kind, names in DEFAULT_GATES.items() if gate.name in map(gate_name, names)
        ]
        rows.append(
            {
                "gate": gate.name,
                "stage": gate.stage,
                "for": ", ".join(sorted(gate.kinds)),
                "by_default": ", ".join(kinds),
                "passes": gate.about,
                "tool": version,
            }
        )
    if as_json:
        print_json({"gates": rows})
        return 0
    header = ("Gate", "Stage", "For", "By default", "Passes")
    print_table(header, ([*row.values()][:-1] for row in rows))
    return 0


def check_file(
    file: Annotated[Path, typer.Argument(help="The artifact.")],
    gates: Annotated[
        str | None,
        typer.Option(help="Gates instead of the kind's own; +name and -name change those."),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="Kind of the artifact, if the file's name doesn't show it.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="A plan file: the artifact is that of --step.")
    ] = None,
    step: Annotated[str, typer.Option(help="The step of --plan.")] = "S1",
    fix: Annotated[
        bool, typer.Option("--fix", help="Write repairs of gates back to the file.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run a file through its gate pipeline; exit code 0 only if every required one passed.

    A gate of the kind's own may have nothing to look at; one that --gates names may not.
    """
    from ..gates import (
        Gate,
        GateCache,
        Subject,
        build_pipeline,
        check,
        run_pipeline,
        select_gates,
    )
    from ..settings import home

    output, of_plan = _asked(file, kind, plan, step)
    asked = None if gates is None else [*filter(None, map(str.strip, gates.split(",")))]
    names = select_gates(output, of_plan, asked)
    if asked is not None and not names:
        raise InputError(f"No gate is left to check {file}.", "Name one, or leave --gates out.")
    subject = Subject(artifact=_read(file), output=output)
    cache = GateCache(home() / "gates")

    async def run_gate(gate: Gate, subject: Subject, required: bool) -> GateResult:
        return await check(gate, subject, required=required, cache=cache)

    result = asyncio.run(run_pipeline(build_pipeline(names), subject, run_gate))
    if fix and result.artifact != subject.artifact:
        file.write_text(result.artifact, encoding="utf-8")
    unchecked = _unchecked(result.results, asked or (), output.kind)
    show_result(file, result, unchecked, as_json=as_json)
    return ExitCode.FAILED if result.stopped_by or unchecked else ExitCode.COMPLETED


def _asked(
    file: Path, kind: str | None, plan: Path | None, step: str
) -> tuple[Output, tuple[str, ...] | None]:
    """What the file has to be, and the gates that its plan names, if it does."""
    if plan is not None:
        from ..gates import gates

        steps = {
            found.id: found for found in load_plan(plan, PlanRules(gates=frozenset(gates()))).steps
        }
        if step not in steps:
            raise InputError(f"{plan} has no step {step!r}.", f"There are {', '.join(steps)}.")
        return steps[step].output, steps[step].gates
    known = kind or _KINDS.get(file.suffix.lower())
    if known not in set(_KINDS.values()) | {"files"}:
        raise InputError(
            f"The kind of the artifact {file} is not known{f': {kind!r}' if kind else ''}.",
            "Give --kind text, json, python, shell or files.",
        )
    return Output.model_validate({"kind": known}), None


def _read(file: Path) -> str:
    return read_text(file, whole=True)


def _unchecked(
    results: Sequence[GateResult], asked: Sequence[str], kind: OutputKind
) -> dict[str, str]:
    """Why gates that a person asked for, and that the file has to pass, were skipped, by name."""
    from ..gates import gate_name

    named = {gate_name(name) for name in asked if not name.startswith("-")}
    return {
        result.gate: _why_skipped(result, kind)
        for result in results
        if result.gate in named and result.required and result.status == "skipped"
    }


def _why_skipped(result: GateResult, kind: OutputKind) -> str:
    from ..gates import find_gate, format_diagnostics

    kinds = find_gate(result.gate).kinds
    if kind not in kinds:
        return f"it is for {' and '.join(sorted(kinds))}, not for {kind}"
    return format_diagnostics(result.diagnostics) or "it has nothing to look at"


gates_app.command("list")(command(list_gates))
gates_app.command("check")(command(check_file, "write"))
