"""How the pages of a run name each other. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..page import Block, Paragraph, Ref, Text
from ..view import RunView

__all__ = ["MOST_STEP_PAGES", "SEE_ALSO", "joined", "ref", "step_page_names", "way"]

MOST_STEP_PAGES = 500
"""Steps of a run that have a page of their own; `inspect --step` shows any."""

SEE_ALSO = "See also: "
"""How the words begin that lead to the run's other pages."""
_MAIN = ("answer", "plan", "timeline")


def step_page_names(view: RunView) -> frozenset[str]:
    """Return the ids of the steps that have a page: the first ones of a plan that is very long."""
    return frozenset(step.id for step in view.steps[:MOST_STEP_PAGES])


def way(here: str) -> Block:
    """Write where the other pages of the run are."""
    texts = [Ref(name, name.capitalize()) for name in _MAIN if name != here]
    return Paragraph((SEE_ALSO, *joined(texts, ", "), "."))


def ref(step: str, words: str = "") -> Ref:
    """Name a step by its page."""
    return Ref(step, words or step)


def joined(texts: Iterable[Text], between: str) -> tuple[Text, ...]:
    """Put words between texts."""
    parts: list[Text] = []
    for text in texts:
        parts += [between, text] if parts else [text]
    return tuple(parts)
