"""The likely cost of a plan is known before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.flows.bounds import TYPICAL_ANSWER, estimate
from prefect_swarm.flows.options import SwarmOptions, TierOptions
from prefect_swarm.models.names import FREE, Price, price_of_name
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from raw_plans import plan, step

DOLLAR = Price(0.001, 0.002)


def of(*steps: dict[str, Any], **fields: Any) -> TaskIR:
    return parse_plan(plan(*steps, **fields))


def test_a_step_reads_its_prompt_and_what_it_needs_and_writes_a_typical_answer() -> None:
    compiled = compile_plan(of(step(1), step(2, 1), final_step="S2"))
    found = estimate(compiled, SwarmOptions(), lambda _: DOLLAR)
    prompts = found.input_tokens - TYPICAL_ANSWER
    assert 10 < prompts < 40
    assert found.output_tokens == 2 * TYPICAL_ANSWER
    assert found.usd == pytest.approx(found.input_tokens * 0.001 + found.output_tokens * 0.002)


def test_an_input_is_counted_for_each_step_that_reads_it() -> None:
    def read(*steps: dict[str, Any]) -> int:
        compiled = compile_plan(of(*steps, inputs={"long": "x" * 3000, "short": "x" * 30}))
        return estimate(compiled, SwarmOptions(), lambda _: FREE).input_tokens

    neither = read(step(1, inputs=[]), step(2, 1))
    assert read(step(1), step(2, 1)) - neither == 1010
    assert read(step(1, inputs=["long"]), step(2, 1, inputs=["long"])) - neither == 2000


def test_what_bounds_a_tier_bounds_its_estimate() -> None:
    compiled = compile_plan(of(step(1), step(2, 1), final_step="S2"))
    options = SwarmOptions(tiers={"worker": TierOptions(max_output_tokens=50)})
    assert estimate(compiled, options, lambda _: FREE).output_tokens == 100


def test_an_answer_from_several_ends_is_counted() -> None:
    apart = estimate(compile_plan(of(step(1), step(2))), SwarmOptions(), lambda _: FREE)
    assert apart.output_tokens == 3 * TYPICAL_ANSWER
    alone = estimate(compile_plan(of(step(1))), SwarmOptions(), lambda _: FREE)
    assert alone.output_tokens == TYPICAL_ANSWER


def test_samples_and_their_reviews_are_counted() -> None:
    def written(**fields: Any) -> int:
        compiled = compile_plan(of(step(1, **fields)))
        return estimate(compiled, SwarmOptions(), lambda _: FREE).output_tokens

    alone, review = written(), {"agent": "Ann", "votes": 3}
    verdict = (written(review=review) - alone) // 3
    assert 0 < verdict < alone
    assert written(best_of={"samples": 3}) == 3 * alone
    assert written(best_of={"samples": 3, "judge": "Ann"}) == 3 * alone + verdict
    assert written(best_of={"samples": 2}, review=review) == 2 * (alone + 3 * verdict)


def test_where_a_price_is_not_known_no_sum_is_made_up() -> None:
    compiled = compile_plan(of(step(1), step(2)))
    assert estimate(compiled, SwarmOptions(), lambda _: None).usd is None


def test_a_name_tells_the_price_without_a_model() -> None:
    assert price_of_name("demo") == price_of_name("llamacpp:/models/x.gguf") == FREE
    gpt = price_of_name("openai:gpt-4o")
    assert gpt is not None
    assert gpt.output_usd > gpt.input_usd > 0
    assert price_of_name("openai:gpt-4o@http://localhost:1/v1") == gpt
    for unknown in ("openai:no-such-model", "block:llama-cpp/x", "python:gpt#1", "nowhere:x"):
        assert price_of_name(unknown) is None
