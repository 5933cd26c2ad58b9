"""Whether an output has the shape that a page shows. Pure.

Figures, dates and ids may be others, and spaces and the lines of tables longer or shorter. `…` is
what is left out: in a line any words, in a line of its own any lines. Lines of progress are apart
from the others, in any order: steps that run at once begin and end as they will. What depends on
the machine alone is not compared: where the Prefect server is, what the time of a run went to, how
far figures spread.
"""

from __future__ import annotations

import re

__all__ = ["differences", "ids_in"]

_LEFT_OUT = "…"
_BAR = re.compile(r"\|[█░▒ ]*\|")
_RULE = re.compile(r"─{2,}")
_NUMBER = r"\d(?:[\d.,:]*\d)?(?: s\b)?"
_SOMETIMES = re.compile(rf" (?:and {_NUMBER} of waiting|\({_NUMBER} to {_NUMBER}\))")
_TIME = re.compile(r"^Time: .*")
_OF_THE_SERVER = re.compile(r"^(Starting a temporary Prefect server|Prefect UI: )")
_PROGRESS = re.compile(r"^\d+(\.\d+)? s (?!= )")
_HASH = r"\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b"
_PRICE = r"\$\d[\d.]*|price not known"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = r"'[a-z]+-[a-z]+'"
_TOKENS = {
    "uuid": rf"\b{_UUID}\b",
    "id": r"\b[0-9a-f]{12}\b",
    "hash": _HASH,
    "price": _PRICE,
    "figure": _NUMBER,
    "name": _NAME,
    "cut": _LEFT_OUT,
}
_TOKEN = re.compile("|".join(f"(?P<{name}>{found})" for name, found in _TOKENS.items()))
_PATTERNS = {
    "hash": _HASH,
    "price": f"(?:{_PRICE})",
    "figure": _NUMBER,
    "name": _NAME,
    "cut": ".*",
}


def differences(shown: str, output: str, bound: dict[str, str] | None = None) -> list[str]:
    """Return the lines of a page that an output doesn't have in their place, and one too many.

    Args:
        shown: What the page has.
        output: What the command wrote.
        bound: The ids of the page with those that they stand for; new ones are added.
    """
    ids = {} if bound is None else bound
    expected, written = _lines(shown), _lines(output)
    progress = [line for line in written if _PROGRESS.match(line)]
    others = [line for line in written if not _PROGRESS.match(line)]
    steps = [line for line in expected if _PROGRESS.match(line)]
    rest = [line for line in expected if not _PROGRESS.match(line)]
    wrong = _out_of_order(steps, progress, ids, may_skip=_LEFT_OUT in expected)
    return [*wrong, *_in_order(rest, others, ids)]


def ids_in(text: str) -> list[str]:
    """Return the ids of runs in a text."""
    return [match["id"] for match in _TOKEN.finditer(text) if match["id"]]


def _out_of_order(
    expected: list[str], written: list[str], ids: dict[str, str], *, may_skip: bool
) -> list[str]:
    rest = list(written)
    missing: list[str] = []
    for line in expected:
        found = next((other for other in rest if _matches(line, other, ids)), None)
        if found is None:
            missing.append(f"not written: {line}")
        else:
            rest.remove(found)
    too_many = [] if may_skip or missing else [f"not on the page: {line}" for line in rest[:1]]
    return [*missing, *too_many]


def _in_order(expected: list[str], written: list[str], ids: dict[str, str]) -> list[str]:
    rest = written
    missing: list[str] = []
    may_skip = False
    for line in expected:
        if line == _LEFT_OUT:
            may_skip = True
            continue
        among = rest if may_skip else rest[:1]
        found = next((n for n, other in enumerate(among) if _matches(line, other, ids)), None)
        if found is None:
            missing.append(f"not written: {line}")
        else:
            rest, may_skip = rest[found + 1 :], False
    too_many = [] if may_skip or missing else [f"not on the page: {line}" for line in rest[:1]]
    return [*missing, *too_many]


def _matches(line: str, other: str, ids: dict[str, str]) -> bool:
    pattern, names = _pattern(line, ids)
    match = re.fullmatch(pattern, other)
    if match is None:
        return False
    found = list(zip(names, map(_run_of, match.groups()), strict=True))
    if any(dict(found)[name] != run for name, run in found):
        return False
    ids.update(found)
    return True


def _pattern(line: str, ids: dict[str, str]) -> tuple[str, list[str]]:
    """Return the expression for a line, and the ids of the page that its groups find."""
    parts: list[str] = []
    new: list[str] = []
    end = 0
    for match in _TOKEN.finditer(line):
        parts.append(re.escape(line[end : match.start()]))
        end = match.end()
        run = _run_of(match["uuid"] or match["id"] or "")
        if not run:
            parts.append(_PATTERNS[match.lastgroup or "figure"])
        elif run in ids:
            parts.append(ids[run] if match["id"] else _flow_run_of(ids[run]))
        else:
            parts.append("([0-9a-f]{12})" if match["id"] else f"({_UUID})")
            new.append(run)
    return "".join([*parts, re.escape(line[end:])]), new


def _run_of(id_: str) -> str:
    # A run is called by the first twelve digits of its flow run.
    return id_.replace("-", "")[:12]


def _flow_run_of(run: str) -> str:
    return f"{run[:8]}-{run[8:]}(?:-[0-9a-f]{{4}}){{2}}-[0-9a-f]{{12}}"


def _lines(text: str) -> list[str]:
    lines = (_plain(line) for line in text.splitlines())
    return [line for line in lines if line and not _OF_THE_SERVER.match(line)]


def _plain(line: str) -> str:
    line = " ".join(_BAR.sub("||", _RULE.sub("──", line)).split())
    return _TIME.sub("Time: …", _SOMETIMES.sub("", line))
