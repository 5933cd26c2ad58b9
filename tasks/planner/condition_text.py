"""Conditions that are written as text: `S1.kind == 'bug' and S1.count > 2`. Pure.

A small grammar of comparisons, `and`, `or`, `not` and brackets; nothing is evaluated. What it
doesn't have is refused, with what to write instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from ...plan.pointers import pointer_of
from ...untrusted.json_text import STEP_ID

__all__ = ["ConditionTextError", "path_parts", "read_condition"]

_MOST_CHARACTERS = 1_000
_MOST_TOKENS = 100
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
  | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?![\w.]))
  | (?P<path>(?:\$?[A-Za-z_]|\$?[./](?=[A-Za-z_])|\$(?=[.\[]))
        (?:[\w$-]|[./](?=[\w*/])|\[\s*(?:[0-9]+|\*|'[^'\]]*'|"[^"\]]*")?\s*\])*)
  | (?P<mark>===|!==|==|!=|<=|>=|&&|\|\||[<>=!()\[\],])
)""",
    re.VERBOSE,
)
_PART = re.compile(r"""\[\s*+(?:'([^']*)'|"([^"]*)"|([0-9]+|\*)?)\s*+\]|([^./\[\]]+)""")
_AT_HAND = frozenset({"item", "output", "result", "this", "it", "self", "value", "$", ""})
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None}
_WORDS = frozenset({"and", "or", "not", "in", "is", "exists", "empty", "matches", "len"})
_INSTEAD = 'write it as an object such as {"step": "S1", "at": "/kind", "is": "bug"}'
_SAME = {"===": "==", "!==": "!=", "=": "==", "&&": "and", "||": "or", "!": "not"}


class ConditionTextError(ValueError):
    """Why a text is no condition, and what to write instead."""


class _Path(NamedTuple):
    """A place in an output; `is_length` for the number of things there."""

    step: str
    at: str
    is_length: bool = False

    def leaf(self, **operators: Any) -> dict[str, Any]:
        step = {"step": self.step} if self.step else {}
        return {**step, "at": self.at, **operators}


class _Value(NamedTuple):
    value: Any


_Token = tuple[str, str]


def path_parts(text: str) -> list[str]:
    """Return the names of a path: `$.papers[0].title`, `/papers/0/title` → papers, 0, title."""
    found: list[str] = []
    for part in _PART.finditer(text):
        name = next((group for group in part.groups() if group is not None), "*")
        found.append(name)
    return found[1:] if found[:1] == ["$"] else found


def _unknown(_: str, __: str) -> bool:
    return False


def read_condition(text: str, is_boolean: Callable[[str, str], bool] = _unknown) -> dict[str, Any]:
    """Return the condition that a text says, as a plan has it.

    Args:
        text: The text.
        is_boolean: Says whether the value of a step (or at hand, "") at a pointer is true or false
            by its schema: then it may stand alone, as in `S1.is_urgent`.

    Raises:
        ConditionTextError: It isn't one, or what it says has more than one meaning.
    """
    stripped = text.strip()
    for begin, end in (("{{", "}}"), ("${", "}")):
        if stripped.startswith(begin) and stripped.endswith(end):
            stripped = stripped[len(begin) : -len(end)].strip()
    return _Reader(_tokens(stripped), is_boolean).condition()


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    text = text.rstrip()
    if len(text) > _MOST_CHARACTERS:
        raise ConditionTextError(f"it is too long; {_INSTEAD}")
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or len(found) >= _MOST_TOKENS:
            raise ConditionTextError(f"it can't be read from {text[at : at + 20]!r} on; {_INSTEAD}")
        kind = token.lastgroup or ""
        written = token[kind]
        if kind == "path" and written.casefold() in _WORDS:
            kind, written = "mark", written.casefold()
        found.append((kind, _SAME.get(written, written) if kind == "mark" else written))
        at = token.end()
    return found


class _Reader:
    def __init__(self, tokens: list[_Token], is_boolean: Callable[[str, str], bool]) -> None:
        self._tokens = tokens
        self._is_boolean = is_boolean
        self._at = 0

    def condition(self) -> dict[str, Any]:
        found = self._any()
        if self._at < len(self._tokens):
            raise self._error()
        return found

    def _error(self) -> ConditionTextError:
        rest = self._tokens[self._at :]
        where = f"at {rest[0][1]!r}" if rest else "at its end"
        return ConditionTextError(f"it can't be read {where}; {_INSTEAD}")

    def _takes(self, *marks: str) -> bool:
        """Go on behind these marks, if they are what comes next."""
        following = self._tokens[self._at : self._at + len(marks)]
        if following != [("mark", mark) for mark in marks]:
            return False
        self._at += len(marks)
        return True

    def _joined(self, mark: str, name: str, part: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        parts = [part()]
        while self._takes(mark):
            parts.append(part())
        return parts[0] if len(parts) == 1 else {name: parts}

    def _any(self) -> dict[str, Any]:
        return self._joined("or", "any", self._all)

    def _all(self) -> dict[str, Any]:
        return self._joined("and", "all", self._one)

    def _one(self) -> dict[str, Any]:
        if self._takes("not"):
            return {"not": self._one()}
        if self._takes("("):
            found = self._any()
            if not self._takes(")"):
                raise self._error()
            return found
        return self._comparison()

    def _comparison(self) -> dict[str, Any]:
        left = self._operand()
        if isinstance(left, _Path) and (found := self._in_words(left)) is not None:
            return found
        if isinstance(left, _Path) and self._ends() and self._is_boolean(left.step, left.at):
            return left.leaf(**{"is": True})
        operator = self._operator()
        right = self._operand(is_right=True)
        if isinstance(left, _Value) and isinstance(right, _Path) and operator in _TURNED:
            left, operator, right = right, _TURNED[operator], left
        if not isinstance(left, _Path) or not isinstance(right, _Value):
            raise ConditionTextError(f"it has to compare an output with a value; {_INSTEAD}")
        return _compared(left, operator, right.value)

    def _ends(self) -> bool:
        """Say whether a comparison ends here."""
        rest = self._tokens[self._at : self._at + 1]
        return not rest or rest[0] in (("mark", "and"), ("mark", "or"), ("mark", ")"))

    def _in_words(self, path: _Path) -> dict[str, Any] | None:
        for words, operators in _IN_WORDS:
            if self._takes(*words):
                if path.is_length:
                    raise self._error()
                return path.leaf(**operators)
        return None

    def _operator(self) -> str:
        for marks in (("not", "in"), ("is", "not")):
            if self._takes(*marks):
                return {"not": "not in", "is": "!="}[marks[0]]
        for mark in ("==", "!=", "<=", ">=", "<", ">", "in", "is", "matches"):
            if self._takes(mark):
                return "==" if mark == "is" else mark
        raise self._error()

    def _operand(self, *, is_right: bool = False) -> _Path | _Value:
        if self._takes("["):
            return _Value(self._list())
        if self._takes("len", "("):
            inner = self._operand()
            if not isinstance(inner, _Path) or not self._takes(")"):
                raise self._error()
            return inner._replace(is_length=True)
        if self._at >= len(self._tokens):
            raise self._error()
        kind, written = self._tokens[self._at]
        if kind == "mark":
            raise self._error()
        self._at += 1
        if kind == "text":
            return _Value(_unquoted(written))
        if kind == "number":
            return _Value(json.loads(written))
        if written.casefold() in _LITERALS:
            return _Value(_LITERALS[written.casefold()])
        # `S1.kind == bug`: a word alone, on the right, is the text.
        if is_right and written.isidentifier() and not STEP_ID.fullmatch(written):
            return _Value(written)
        return _path(written)

    def _list(self) -> list[Any]:
        found: list[Any] = []
        while not self._takes("]"):
            if found and not self._takes(","):
                raise self._error()
            element = self._operand(is_right=True)
            if not isinstance(element, _Value):
                raise self._error()
            found.append(element.value)
        return found


_TURNED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_IN_WORDS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("is", "not", "empty"), {"empty": False}),
    (("is", "empty"), {"empty": True}),
    (("not", "exists"), {"exists": False}),
    (("exists",), {"exists": True}),
]


def _unquoted(written: str) -> str:
    return re.sub(r"\\(.)", r"\1", written[1:-1])


def _path(written: str) -> _Path:
    parts = path_parts(written)
    is_length = len(parts) > 1 and parts[-1] == "length"
    if is_length:
        parts.pop()
    if parts and STEP_ID.fullmatch(parts[0]):
        return _Path(parts[0], pointer_of(parts[1:]), is_length)
    if parts and parts[0] in _AT_HAND:
        parts = parts[1:]
    return _Path("", pointer_of(parts), is_length)


def _compared(path: _Path, operator: str, value: Any) -> dict[str, Any]:
    if path.is_length:
        is_empty = _EMPTY.get((operator, value)) if isinstance(value, int) else None
        if is_empty is None:
            raise ConditionTextError(
                f"a length can only be compared with 0: `empty` says whether it is; {_INSTEAD}"
            )
        return path.leaf(empty=is_empty)
    if operator in ("in", "not in"):
        if not isinstance(value, list) or not value:
            raise ConditionTextError(f"`in` has to name a list of values; {_INSTEAD}")
        found = path.leaf(**{"in": cast("list[Any]", value)})
        return {"not": found} if operator == "not in" else found
    if operator == "matches":
        return path.leaf(matches=value)
    if operator in ("==", "!="):
        return path.leaf(**{"is" if operator == "==" else "is_not": value})
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConditionTextError(f"only numbers can be above or below; {_INSTEAD}")
    bound = path.leaf(**{"over" if operator.startswith(">") else "under": value})
    return {"any": [bound, path.leaf(**{"is": value})]} if operator.endswith("=") else bound


_EMPTY: dict[tuple[str, int], bool] = {
    ("==", 0): True,
    ("<", 1): True,
    ("<=", 0): True,
    ("!=", 0): False,
    (">", 0): False,
    (">=", 1): False,
}
