"""The gate of the house: whether a total is that of the figures, and in the house's form."""

from __future__ import annotations

import re
from collections.abc import Mapping

from prefect_swarm.errors import Category
from prefect_swarm.gates import Finding, Stage, Subject, pipeline
from prefect_swarm.gates.base import fault
from prefect_swarm.plan.output import OutputKind

from .family import kind_of

__all__ = ["NAME", "House", "register", "total_of"]

NAME = "house"


def total_of(prompt: str) -> int:
    """Return the sum of the figures that a step's prompt has."""
    found = re.findall(r"Figures: ([\d, ]+)\.", prompt)
    return sum(map(int, found[-1].split(", "))) if found else 0


class House:
    """Passes a text that has the right total and, where the house wants one, the form.

    Args:
        forms: The form that each kind of step has to name, "" for none.
    """

    name = NAME
    about = "a total that is right, in the form that the house wants"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s = 5.0

    def __init__(self, forms: Mapping[str, str]) -> None:
        self.forms = forms

    def version(self) -> str:
        """Return what decides: the forms."""
        return f"house {sorted(self.forms.items())}"

    async def check(self, subject: Subject) -> Finding:
        """Hold an artifact against its prompt."""
        kind = kind_of(subject.prompt)
        form = self.forms.get(kind, "")
        if form and f"Form: {form}" not in subject.artifact:
            return fault(Category.LOGIC, f"the house wants {kind} with a line Form: {form}")
        if f"Total: {total_of(subject.prompt)}\n" not in f"{subject.artifact}\n":
            return fault(Category.LOGIC, f"the total of {kind} is not that of the figures")
        return Finding(status="passed")


def register(gate: House) -> None:
    """Have the product know the gate, as one that a package registers; in place of an earlier."""
    known = pipeline._OWN  # pyright: ignore[reportPrivateUsage] - a package has its entry point
    own = [each for each in known if each.name != gate.name]
    pipeline._OWN = (*own, gate)  # pyright: ignore[reportPrivateUsage]
    pipeline.gates.cache_clear()
