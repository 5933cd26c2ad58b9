"""The checks of a case on a run. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ..data_types import Frozen
from ..flows.answer_type import answer_problem
from ..host.bounded import BOUNDED_WORK, BoundError, ProcessBounds, answer_within
from ..store.result import SwarmResult
from ..text import one_line, plural
from .cases import Checks, Words

__all__ = ["Verdict", "verdicts_on"]


_BOUNDS = ProcessBounds(5.0)
_SHOWN = 300  # characters of a reason


class Verdict(Frozen):
    """What a check found. `reason` is "" where it passed and there is nothing to say."""

    check: str
    passed: bool
    reason: str = ""


def verdicts_on(checks: Checks, result: SwarmResult | None, error: str = "") -> list[Verdict]:
    """Say of each check whether a run passes it; the judge is asked elsewhere.

    Args:
        checks: What the run has to be like.
        result: How it ended; None if it didn't come to a result.
        error: Why not.

    Returns:
        `run` first: whether it was completed. The others only where there is an answer.
    """
    if result is None or result.status not in ("completed", "partial"):
        why = error or (result.problem if result is not None else "") or "it has no result"
        return [_verdict("run", why)]
    is_whole = result.status == "completed"
    partly = "" if is_whole else f"partly completed: {result.problem}"
    return [_verdict("run", partly), *_answered(checks, result.answer), *_bounds(checks, result)]


def _answered(checks: Checks, answer: str) -> Iterator[Verdict]:
    if checks.words is not None:
        yield _verdict("words", "; ".join(_words(checks.words, answer)))
    if checks.matches:
        yield _verdict("matches", _unmatched(checks.matches, answer))
    if checks.answer_schema is not None:
        yield _verdict("schema", answer_problem(answer, checks.answer_schema, lambda _: ""))


def _unmatched(patterns: list[str], answer: str) -> str:
    try:
        found = answer_within(
            BOUNDED_WORK, json.dumps([patterns, answer]).encode(), _BOUNDS, "patterns"
        )
    except BoundError as error:
        return f"whether {', '.join(patterns)} can be found is not known: {error}"
    missing: list[str] = json.loads(found)
    return f"nothing matches {', '.join(missing)}" if missing else ""


def _words(words: Words, answer: str) -> Iterator[str]:
    missing = [word for word in words.all_of if not _has(answer, word)]
    if missing:
        yield f"missing: {', '.join(missing)}"
    if words.any_of and not any(_has(answer, word) for word in words.any_of):
        yield f"none of: {', '.join(words.any_of)}"
    unwanted = [word for word in words.none_of if _has(answer, word)]
    if unwanted:
        yield f"unwanted: {', '.join(unwanted)}"


def _has(text: str, word: str) -> bool:
    """Whether a text has a word or phrase: in any case, not inside a longer word."""
    pattern = r"\s+".join(re.escape(part) for part in word.casefold().split())
    return re.search(rf"(?<!\w){pattern}(?!\w)", text.casefold()) is not None


def _bounds(checks: Checks, result: SwarmResult) -> Iterator[Verdict]:
    steps = sum(not step.parent for step in result.steps)
    tokens = result.cost.tokens
    makespan, usd = result.metrics.makespan_s, result.cost.money_usd
    if (most := checks.max_steps) is not None:
        yield _verdict("max_steps", _over(steps > most, plural(steps, "step"), f"{most:,}"))
    if (most := checks.max_tokens) is not None:
        yield _verdict("max_tokens", _over(tokens > most, plural(tokens, "token"), f"{most:,}"))
    if (longest := checks.max_makespan_s) is not None:
        late = _over(makespan > longest, f"{makespan:.2f} s", f"{longest:g} s")
        yield _verdict("max_makespan_s", late)
    if (dearest := checks.max_usd) is not None:
        unknown = usd is None
        spent = "no price is known" if usd is None else f"${usd:.6f}, more than ${dearest:g}"
        yield _verdict("max_usd", spent if unknown or usd > dearest else "")


def _over(is_over: bool, value: str, bound: str) -> str:
    return f"{value}, more than {bound}" if is_over else ""


def _verdict(check: str, problem: str) -> Verdict:
    return Verdict(check=check, passed=not problem, reason=one_line(problem, _SHOWN))
