"""The `unit` gate: Python that gives what its examples say, and passes the tests there are.

It runs in the sandbox. The values of examples are compared outside it, by a process that never sent
the expected ones to the artifact's: nothing the artifact does can make up for a wrong one.
Tests share their process with the artifact, which could therefore search the interpreter for the
means to forge a result; all that is simpler fails, since every test that can be seen in the text
has to be reported as passed, pytest has to end, and tests that must fail have to. After a pass the
artifact's own tests run once more without its code, and have to notice (see `emptied`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import Category
from ...task_ir import OutputKind
from ..code.source import explain
from ..gate import Stage, Subject
from ..result import Diagnostic, Finding, fault
from .inspection import Facts, read
from .layout import Layout, Piece, lay_out
from .trial import installed, python_version, run_trial

__all__ = ["Unit"]


@dataclass(frozen=True)
class Unit:
    """Examples, the artifact's own tests, and the tests of it that earlier steps wrote."""

    name: str = "unit"
    about: str = "Python that gives what its examples say and passes its tests"
    kinds: frozenset[OutputKind] = frozenset({"python"})
    stage: Stage = "unit"
    timeout_s: float = 120.0

    def version(self) -> str:
        return python_version()

    async def check(self, subject: Subject) -> Finding:
        """Test the artifact with everything that can test it; without any, import it.

        Raises:
            GateError: The sandbox couldn't start what runs the tests.
            SandboxError: There is no sandbox.
        """
        facts = read(subject.artifact)
        if isinstance(facts, Diagnostic):
            return fault(Category.FORMAT, await explain(subject.artifact, facts))
        examples = subject.output.examples
        layout = lay_out(_pieces(subject, facts), installed())
        if facts.tests and not facts.code and not examples and (wanted := layout.missing.get(0)):
            return _skip(f"the tests are of {', '.join(wanted)}, which no earlier step wrote")
        tests = [layout.placed[at] for at in _tests(layout)]
        found = await run_trial(layout, layout.placed[:1], tests, examples)
        if found.status == "passed" and not tests and not examples:
            return _skip("nothing to test it with: no examples, no tests; it can be imported")
        return found


def _pieces(subject: Subject, facts: Facts) -> list[Piece]:
    others = [
        Piece(output.name, output.text, of_material)
        for output in subject.upstream
        if output.kind == "python" and isinstance(of_material := read(output.text), Facts)
    ]
    return [Piece("artifact", subject.artifact, facts, own=True), *others]


def _tests(layout: Layout) -> list[int]:
    """Return the positions of what tests the artifact, the first: itself, and those who use it."""
    facts = [placed.piece.facts for placed in layout.placed]
    own = [0] if facts[0].tests or facts[0].doctests else []
    others = range(1, len(facts))
    return own + [at for at in others if facts[at].tests and (at, 0) in layout.links]


def _skip(message: str) -> Finding:
    return Finding(status="skipped", diagnostics=(Diagnostic(message=message),))
