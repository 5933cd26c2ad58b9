"""The `typecheck` gate: Python whose types fit, by pyright. No kind has it by default."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import Category, GateError
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..result import Diagnostic, Finding, fault
from ..tool import TOO_DEEP, find_tool, gave_up, run_tool, tool_version
from .source import unreadable, without_pyright_directives

__all__ = ["Typecheck"]

_TOOL, _PACKAGE = "pyright", "'pyright[nodejs]'"
_MOST_DIAGNOSTICS = 5


@dataclass(frozen=True)
class Typecheck:
    """pyright in its basic mode; it reads the artifact and never runs it."""

    name: str = "typecheck"
    about: str = "Python whose types fit, by pyright (to be installed)"
    kinds: frozenset[OutputKind] = frozenset({"python"})
    stage: Stage = "light"
    timeout_s: float = 120.0

    def version(self) -> str:
        return tool_version(_TOOL, _PACKAGE)

    async def check(self, subject: Subject) -> Finding:
        """Check the artifact in a folder of its own."""
        if wrong := unreadable(subject.artifact):
            return fault(Category.FORMAT, wrong)
        with tempfile.TemporaryDirectory() as folder:
            _lay_out(Path(folder), subject.artifact)
            argv = [find_tool(_TOOL, _PACKAGE), "--outputjson", "--project", folder]
            output = await run_tool(argv, "")
        if gave_up(output):
            return fault(Category.FORMAT, TOO_DEEP)
        if output.exit_code not in (0, 1):
            raise GateError(f"pyright ended with {output.exit_code}: {output.stderr[:300]}")
        problems: list[dict[str, Any]] = json.loads(output.stdout)["generalDiagnostics"]
        found = [
            Diagnostic(
                message=problem["message"].split("\n")[0],
                line=problem["range"]["start"]["line"] + 1,
                column=problem["range"]["start"]["character"] + 1,
                code=problem.get("rule", ""),
            )
            for problem in problems
            if problem["severity"] == "error"
        ]
        if found:
            return fault(Category.CODE, *found[:_MOST_DIAGNOSTICS])
        return Finding(status="passed")


def _lay_out(folder: Path, artifact: str) -> None:
    (folder / "artifact.py").write_text(without_pyright_directives(artifact), "utf-8", newline="")
    (folder / "pyrightconfig.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")


_SETTINGS = {
    "typeCheckingMode": "basic",
    "reportMissingImports": False,
    # A comment of a model's hides nothing.
    "enableTypeIgnoreComments": False,
}
