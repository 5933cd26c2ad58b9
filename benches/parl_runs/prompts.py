"""Questions that plans are learnt for, and plans in lines of several styles to begin with. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal, get_args

from wide_search.questions import HEAD, Question, listed, named
from wide_search.reading import read_wanted
from wide_search.world import World

__all__ = ["STYLES", "Style", "draw_question", "draw_questions", "plan_in_lines"]

Style = Literal["one", "serial", "parallel", "columns", "idle"]
STYLES: tuple[Style, ...] = get_args(Style)
_COLUMNS = ("founded", "employees", "tonnes", "town", HEAD, f"birthplace of the {HEAD}")
_MOST_COLUMNS, _MOST_NAMES = 3, 6
_PARTS = (2, 3, 4)
_IDLE = (
    "Look into the history of the district.",
    "Collect opinions on the works.",
    "Think about the layout of the table.",
    "Find pictures of the works.",
)
"""What adds nothing to a table, and what no subagent of the bench can do."""


def draw_questions(world: World, seed: int, count: int) -> list[Question]:
    """Return questions about a world; no two have one text."""
    rng = Random(seed)
    found: dict[str, Question] = {}
    while len(found) < count:
        question = draw_question(world, rng)
        found.setdefault(question.text, question)
    return [*found.values()]


def draw_question(world: World, rng: Random) -> Question:
    """Draw a list of works in a district, or a few works that are named."""
    columns = rng.sample(_COLUMNS, rng.randint(1, _MOST_COLUMNS))
    of = rng.choice([*world.lists])
    if rng.random() < 0.5:
        return listed("", "wide", world, of, columns)
    names = rng.sample(world.lists[of], rng.randint(1, _MOST_NAMES))
    return named("", "narrow" if len(names) == 1 else "deep", world, names, columns)


def plan_in_lines(question: str, style: Style, rng: Random) -> str:
    """Write a plan of a style for a question.

    `one` leaves all to one subagent; `serial` has one part after another added; `parallel` has all
    parts side by side; `columns` has one subagent for each column; `idle` adds to that steps that
    nothing is made of.
    """
    wanted = read_wanted(question)
    parts = rng.choice(_PARTS)
    if style == "one":
        return _lines([(question, ())])
    if style == "columns" and len(wanted.columns) > 1:
        heads = question.partition("Columns:")[0]
        return _lines([(f"{heads}{_columns([each])}", ()) for each in wanted.columns])
    steps = _parts(wanted.of, wanted.names, wanted.columns, parts, serial=style == "serial")
    if style == "idle":
        steps += [(each, ()) for each in rng.sample(_IDLE, rng.randint(1, 2))]
    return _lines(steps)


_Step = tuple[str, tuple[int, ...]]


def _parts(
    of: str, names: Sequence[str], columns: Sequence[str], parts: int, *, serial: bool
) -> list[_Step]:
    steps: list[_Step] = []
    if of:
        steps.append((f"Find all {of}. Answer with a list of their names.", ()))
        asked = [f"Take part {n} of {parts} of the names." for n in range(1, parts + 1)]
    else:
        parts = min(parts, len(names))
        asked = [
            f"Make a table of these works: {'; '.join(names[n::parts])}." for n in range(parts)
        ]
    for number, text in enumerate(asked):
        needs = (1,) if of else ()
        if serial and number:
            needs = (*needs, len(steps))
        steps.append((f"{text} {_columns(columns)}", needs))
    return steps


def _columns(columns: Sequence[str]) -> str:
    return f"Columns: name; {'; '.join(columns)}."


def _lines(steps: Sequence[_Step]) -> str:
    return "\n".join(
        f"{number}. Reader: {prompt}{_needs(needs)}"
        for number, (prompt, needs) in enumerate(steps, 1)
    )


def _needs(numbers: Sequence[int]) -> str:
    return f" (needs {', '.join(map(str, numbers))})" if numbers else ""
