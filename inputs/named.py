"""Which of the given inputs a step of a plan names. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..text import one_line

__all__ = ["named_problem"]

_SHOWN = 300


def named_problem(names: Sequence[str], known: Collection[str]) -> str:
    """Say what is wrong with the inputs that a step names, for behind its id; "" if nothing is.

    Args:
        names: What the step names.
        known: The inputs that there are.
    """
    for place, name in enumerate(names):
        if name in names[:place]:
            return f"names its input {name!r} twice"
        if name not in known:
            others = one_line(", ".join(sorted(known)), _SHOWN)
            has = f"there are {others}" if others else "no inputs are given"
            return f"reads an unknown input {name!r}; {has}"
    return ""
