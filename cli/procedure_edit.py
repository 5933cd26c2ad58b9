"""`prefect-swarm procedure edit`: a procedure in an editor, and its next version."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InputError, PlanError
from .editor import edit_text
from .procedure_check import contents_of
from .terminal.printing import print_text
from .terminal.session import say

__all__ = ["edit"]


def edit(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="NAME[@N]", help="A procedure; its current version, or another one."
        ),
    ],
) -> int:
    """Open a procedure in $VISUAL or $EDITOR, and store what you save as its next version.

    While it can't be stored the editor opens again, with the problem above it.
    """
    from ..plan.documents import LineProblem, marked, without_marks
    from ..plan.procedure import parse_procedure, procedure_text
    from ..store.procedures import find_procedure, save_procedure

    stored = find_procedure(reference)
    original = shown = procedure_text(stored.procedure)
    before = ""
    while True:
        text = without_marks(edit_text(shown, "procedure"))
        if not text.strip() or text == original:
            print_text(f"{stored.reference} is as it was: nothing is stored.")
            return 0
        try:
            saved = save_procedure(parse_procedure(text, "The procedure"))
        except (InputError, PlanError) as error:
            if text == before:
                raise
            say(str(error))
            problem = LineProblem(0, " ".join(str(error).split()))
            before, shown = text, marked(text, [problem])
            continue
        print_text(f"{saved.reference} ({saved.digest}): {contents_of(saved.procedure)}.")
        return 0
