"""Whether a run is as its case wants it: checks, and a model that judges by a rubric."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from ..blocks.limiter.model import open_limiters
from ..blocks.models import resolve_model
from ..blocks.profiles import price_of
from ..errors import InputError, ModelError
from ..flows.answer import answer_problem
from ..frozen import Frozen
from ..host.bounded import BoundError, ProcessBounds, answer_within
from ..result import SwarmResult
from ..text import one_line, plural
from .cases import Checks, Words

if TYPE_CHECKING:
    from ..flows.options import SwarmOptions
    from .reading import EvalCase

__all__ = ["Judgement", "Verdict", "judge_answer", "judge_model", "verdicts_on"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge found, and what that took; `usd` is None where no price is known."""

    passed: bool
    reason: str
    tokens: int
    usd: float | None


async def judge_model(case: EvalCase, options: SwarmOptions, at_once: int = 1) -> Model:
    """Return the model that judges a case's answers: its own, or the planner's.

    Raises:
        InputError: Its name has none of the known forms.
        ModelError: It can't be had.
    """
    try:
        if case.judge:
            model = await resolve_model(options.named(case.judge), "judge")
        else:
            model = await resolve_model(options.model_of("orchestrator"), "orchestrator")
    except (InputError, ModelError) as error:
        problem = error.problem.removeprefix("Tier judge: ")
        raise type(error)(f"The judge of case {case.name}: {problem}", error.fix) from None
    open_limiters(model, at_once)
    return model


async def judge_answer(model: Model, objective: str, answer: str, rubric: str) -> Judgement:
    """Ask whether the rubric is true of an answer to an objective.

    Raises:
        AgentRunError: The model can't be asked, or says nothing that is a verdict.
    """
    from pydantic_evals.evaluators.llm_as_a_judge import judge_input_output

    counted = _CountedModel(model)
    found = await judge_input_output(objective, answer, rubric, counted)
    price, usage = price_of(model), counted.usage
    usd = None if price is None else price.of(usage.input_tokens, usage.output_tokens)
    return Judgement(found.pass_, found.reason, usage.total_tokens, usd)


class _CountedModel(WrapperModel):
    """Adds up what a model's answers took, of which the judge says nothing."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.usage = RequestUsage()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        response = await super().request(messages, model_settings, model_request_parameters)
        self.usage += response.usage
        return response


_SCRIPT = Path(__file__).with_name("matching.py")
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
        found = answer_within(_SCRIPT, json.dumps([patterns, answer]).encode(), _BOUNDS)
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
    steps, tokens = len(result.steps), result.cost.tokens
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
