"""`prefect-swarm diff`: two runs side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from ..command import AsJson
from ..output.printing import print_json
from .printing import print_difference

__all__ = ["diff"]

FirstRun = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its flow run's.")]
SecondRun = Annotated[str, typer.Argument(metavar="RUN", help="The run that it is compared with.")]


def diff(first: FirstRun, second: SecondRun, as_json: AsJson = False) -> int:
    """Show two runs side by side: plans, steps, answers, metrics and cost."""
    from ...flows.compared.runs import compare_runs
    from ...flows.compared.stored import compared_run

    found = compare_runs(compared_run(first), compared_run(second))
    if as_json:
        print_json(found)
    else:
        print_difference(found)
    return 0
