"""The `length` gate: a text of as many words as its step asks for."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import Category
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..result import Finding, fault

__all__ = ["Length"]


@dataclass(frozen=True)
class Length:
    """Words are what stands between white space."""

    name: str = "length"
    about: str = "a text within min_words and max_words"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "1"

    async def check(self, subject: Subject) -> Finding:
        """Count the words."""
        words = len(subject.artifact.split())
        least, most = subject.output.min_words, subject.output.max_words
        if least is not None and words < least:
            return fault(Category.FORMAT, f"{words} words are too few, write at least {least}")
        if most is not None and words > most:
            return fault(Category.FORMAT, f"{words} words are too many, write at most {most}")
        return Finding(status="passed")
