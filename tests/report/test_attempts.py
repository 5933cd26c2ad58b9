"""From the run's page alone a person sees why a step ran as often as it did, and what that cost."""

from __future__ import annotations

import html
import re
from typing import Any, get_args

from prefect_swarm.errors import Category
from prefect_swarm.report.attempts_page import attempt_lines, attempts_sections
from prefect_swarm.report.markdown import page_markdown
from prefect_swarm.report.page import ACTIONS, CATEGORIES, Page
from prefect_swarm.store.attempt import Action, Attempt, Compaction, Decision, Usage
from prefect_swarm.store.step import StepState


def attempt(number: int, category: Category | None = None, **fields: Any) -> Attempt:
    given: dict[str, Any] = {
        "agent": "Reader",
        "tier": "worker",
        "model": "small",
        "started_at": 10.0 * number,
        "ended_at": 10.0 * number + 2,
        "usage": Usage(requests=1, input_tokens=number, output_tokens=10),
        "error": "it was wrong" if category else None,
    }
    return Attempt(number=number, category=category, **given | fields)


def decision(action: Action, **fields: Any) -> Decision:
    given: dict[str, Any] = {"tier": None if action in ("FAIL", "SKIP") else "worker", **fields}
    return Decision(action=action, rule=f"LOGIC: {action}", reason="LOGIC failure 1", **given)


def step(*attempts: Attempt, status: Any = "succeeded", **fields: Any) -> StepState:
    return StepState(id="S1", agent="Reader", status=status, attempts=attempts, **fields)


def markdown(*steps: StepState) -> str:
    page = Page("timeline", "Timeline", [], attempts_sections(steps))
    return page_markdown(page, lambda _: "").removeprefix("# Timeline").lstrip()


def page(*steps: StepState) -> str:
    return html.unescape(markdown(*steps))


REPLANNED = decision(
    "REPLAN",
    usage=Usage(requests=1, input_tokens=90, output_tokens=10),
    duration_s=3.0,
    outcome="Counter: Count to one",
)
LOGIC = Category.LOGIC


def test_a_step_that_succeeds_at_once_needs_no_explanation() -> None:
    assert page(step(attempt(1))) == ""


def test_a_steps_way_to_its_end_is_told_in_a_sentence() -> None:
    text = page(
        step(
            attempt(1, LOGIC, decision=decision("SAMPLE", samples=4)),
            attempt(2, LOGIC, samples=4, decision=REPLANNED),
            attempt(3, agent="Counter"),
        )
    )
    assert (
        "- **S1** ran 3 times and succeeded: attempt 1 (Reader on worker) failed by LOGIC, so "
        "SAMPLE 4 on worker; attempt 2 (Reader on worker, 4 candidates) failed by LOGIC, so "
        "REPLAN on worker (Counter: Count to one); attempt 3 (Counter on worker) passed."
    ) in text


def test_a_decision_has_the_cost_of_what_it_led_to() -> None:
    text = page(step(attempt(1, LOGIC, decision=REPLANNED), attempt(2)))
    assert (
        "led to a question (100 tokens, 3.0 s): Counter: Count to one; attempt 2 (12 tokens, 2.0 s)"
    ) in text


def test_the_attempt_that_ended_it_has_a_row_too() -> None:
    text = page(step(attempt(1, LOGIC, decision=decision("SAMPLE")), attempt(2, samples=4)))
    assert "| passed, first of 4 | S1 | 2 |  | 12 tokens, 2.0 s |  |" in text


def test_what_a_step_ended_with_is_told_whether_it_ran_or_not() -> None:
    failed = step(
        attempt(1, LOGIC, decision=decision("FAIL")), status="failed", reason="LOGIC: so it was"
    )
    assert "**S1** ran once and failed: " in page(failed)
    assert "LOGIC: so it was" in page(failed)
    assert "no further attempt" in page(failed)
    upstream = step(status="skipped", reason="UPSTREAM: S0 did not succeed")
    assert "- **S1** did not run. UPSTREAM: S0 did not succeed" in page(upstream)


def test_the_words_that_occur_are_explained_and_no_others() -> None:
    text = page(step(attempt(1, LOGIC, decision=decision("RETRY")), attempt(2)))
    assert "RETRY: asked again" in text
    assert "LOGIC: it runs" in text
    assert "ESCALATE: " not in text
    assert set(ACTIONS) == set(get_args(Action))
    assert set(CATEGORIES) == set(Category)


def test_what_a_model_wrote_has_no_power_over_the_page() -> None:
    hostile = "](http://far.away)|<b>\n# x"
    failed = attempt(1, LOGIC, error=hostile, agent=hostile, decision=REPLANNED)
    raw = markdown(step(failed, status="failed", reason=hostile))
    assert re.search(r"(?<!\\)\]\(", raw) is None
    assert "<b>" not in raw
    assert "\n# x" not in raw


def test_a_long_run_is_cut_off_with_a_count() -> None:
    retried = step(attempt(1, LOGIC, decision=decision("RETRY")), attempt(2))
    text = page(*[retried] * 201)
    assert "\n- 151 more." in text
    assert "\n\n202 more." in text


def test_an_attempt_says_how_much_less_its_model_was_sent() -> None:
    made = (
        Compaction(request=9, results=7, cut=1, tokens_before=8000, tokens_after=4500),
        Compaction(request=15, results=2, exchanges=6, tokens_before=8000, tokens_after=4000),
    )
    assert attempt_lines(attempt(1, compactions=made))[1:] == [
        "conversation made shorter 2 times: 9 tool results left out, 1 tool result cut, a summary "
        "in place of 6 answers; about 7,500 tokens saved"
    ]
    assert attempt_lines(attempt(1, compactions=made[:1]))[1:] == [
        "conversation made shorter once: 7 tool results left out, 1 tool result cut; about 3,500 "
        "tokens saved"
    ]
    assert len(attempt_lines(attempt(1))) == 1
