"""Misfits of a value with a JSON Schema. Runs in a process of its own where that may take long.

It knows nothing of this package: a schema and a value come in, and findings go out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


_MOST_FOUND = 20
MOST_MORE = 980
_BEGIN_CHARS, _END_CHARS = 160, 80
"""Of a finding: a value stands in it whole, and what is wrong with it at its end."""
_SLOW = ('"pattern', '"uniqueItems"', '"unevaluated', '"$dynamic', '"$schema"')
"""Keywords of which one alone may take for ever, or that lead to another kind of validator."""
_MEMORY_BYTES = 1 << 30

_Check = Callable[[Any, Any, Any, Any], "Iterable[ValidationError] | None"]


class Misfits(NamedTuple):
    """What doesn't fit; or why the schema can't be applied.

    Attributes:
        found: The first twenty mistakes, in the value's order, with their places.
        broken: Why the schema can't be applied; "" if it can.
        more: How many other mistakes there are, up to 980.
    """

    found: list[str]
    broken: str = ""
    more: int = 0


class TooMuchWorkError(Exception):
    """More keywords had to be applied than were allowed."""


def may_take_long(schema: dict[str, Any]) -> bool:
    """Say whether a single keyword of a schema can take for ever, whatever bounds their number."""
    text = json.dumps({name: each for name, each in schema.items() if name != "$schema"})
    return any(word in text for word in _SLOW)


def misfits(schema: dict[str, Any], value: Any, most: int | None = None) -> Misfits:
    """Apply a schema.

    Args:
        schema: JSON Schema 2020-12.
        value: What json.loads returns.
        most: How many keywords may be applied; None is any number.

    Raises:
        TooMuchWorkError: They were not enough.
    """
    # Here and not above: what imports the gates must not wait for it.
    from jsonschema import Draft202012Validator, validators
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    own: Mapping[str, _Check] = Draft202012Validator.VALIDATORS  # pyright: ignore[reportUnknownMemberType]
    checks = {} if most is None else _counted(own, most)
    made: Any = cast("Any", validators).extend(Draft202012Validator, checks)
    bare = {name: each for name, each in schema.items() if name != "$schema"}
    # A registry of its own: the default one fetches a schema's remote references.
    registry: Registry[Any] = Registry()
    errors = cast("Iterator[ValidationError]", made(bare, registry=registry).iter_errors(value))
    try:
        found = [_written(each) for each in islice(errors, _MOST_FOUND)]
        more = sum(1 for _ in islice(errors, MOST_MORE))
    except (Unresolvable, RecursionError, OverflowError, ValueError, TypeError) as error:
        return Misfits([], f"{error}")
    return Misfits(found, more=more)


def _written(error: ValidationError) -> str:
    message = error.message
    if len(message) > _BEGIN_CHARS + _END_CHARS:
        message = f"{message[:_BEGIN_CHARS]} … {message[-_END_CHARS:]}"
    return f"{error.json_path}: {message}"


def _counted(checks: Mapping[str, _Check], most: int) -> dict[str, _Check]:
    done = count(1)

    def counted(check: _Check) -> _Check:
        def run(validator: Any, wanted: Any, value: Any, schema: Any) -> Any:
            if next(done) > most:
                raise TooMuchWorkError
            return check(validator, wanted, value, schema)

        return run

    return {name: counted(check) for name, check in checks.items()}


if __name__ == "__main__":
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    sys.stdout.write(json.dumps(misfits(*json.load(sys.stdin))))
