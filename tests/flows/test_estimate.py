"""What a plan comes to, at least and at most, is known before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.flows.estimate import (
    TYPICAL_ANSWER,
    Estimate,
    PriceOf,
    estimate,
    is_varied,
    least_of_members,
    least_of_plan,
    shortage,
    sizes_of,
)
from prefect_swarm.flows.options import SwarmOptions, TierOptions
from prefect_swarm.models.names import FREE, Price, price_of_name
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.expand import instances_of
from prefect_swarm.plan.items import file_items, item_of
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.accounts import Amount, Budget
from raw_plans import plan, step

DOLLAR = Price(0.001, 0.002)


def of(*steps: dict[str, Any], **fields: Any) -> TaskIR:
    return parse_plan(plan(*steps, **fields))


def ends(
    plan: TaskIR, options: SwarmOptions | None = None, price_of: PriceOf = lambda _: FREE
) -> tuple[Estimate, Estimate]:
    options = options or SwarmOptions()
    return estimate(compile_plan(plan), sizes_of(plan, options), options, price_of)


def least(plan: TaskIR, options: SwarmOptions | None = None) -> Estimate:
    return ends(plan, options)[0]


def most(plan: TaskIR, options: SwarmOptions | None = None) -> Estimate:
    return ends(plan, options)[1]


def needed(plan: TaskIR, **options: Any) -> Amount:
    made = SwarmOptions(**options)
    return least_of_plan(compile_plan(plan), sizes_of(plan, made), made, lambda _: DOLLAR)


ONCE = SwarmOptions(max_attempts=1)


def test_a_step_reads_its_prompt_and_what_it_needs_and_writes_a_typical_answer() -> None:
    found, _ = ends(of(step(1), step(2, 1), final_step="S2"), price_of=lambda _: DOLLAR)
    prompts = found.input_tokens - TYPICAL_ANSWER
    assert 10 < prompts < 40
    assert found.output_tokens == 2 * TYPICAL_ANSWER
    assert found.usd == pytest.approx(found.input_tokens * 0.001 + found.output_tokens * 0.002)


def test_an_input_is_counted_for_each_step_that_reads_it() -> None:
    def read(*steps: dict[str, Any]) -> float:
        return least(of(*steps, inputs={"long": "x" * 3000, "short": "x" * 30})).input_tokens

    neither = read(step(1, inputs=[]), step(2, 1))
    assert read(step(1), step(2, 1)) - neither == 1010
    assert read(step(1, inputs=["long"]), step(2, 1, inputs=["long"])) - neither == 2000


def test_what_bounds_a_tier_bounds_its_estimate() -> None:
    options = SwarmOptions(tiers={"worker": TierOptions(max_output_tokens=50)})
    assert least(of(step(1), step(2, 1), final_step="S2"), options).output_tokens == 100


def test_an_answer_from_several_ends_is_counted() -> None:
    assert least(of(step(1), step(2))).output_tokens == 3 * TYPICAL_ANSWER
    assert least(of(step(1))).output_tokens == TYPICAL_ANSWER


def test_a_step_that_joins_asks_no_model_and_hands_all_of_it_on() -> None:
    joins = {"id": "S3", "collect": "list", "depends_on": ["S1", "S2"]}
    found = least(of(step(1), step(2), joins, step(4, 3), final_step="S4"))
    assert found.output_tokens == 3 * TYPICAL_ANSWER
    assert found.input_tokens > 2 * TYPICAL_ANSWER


def test_samples_and_their_reviews_are_counted() -> None:
    def written(**fields: Any) -> tuple[float, float]:
        found = ends(of(step(1, **fields)), ONCE)
        return found[0].output_tokens, found[1].output_tokens

    alone, review = written()[0], {"agent": "Ann", "votes": 3}
    verdict = (written(review=review)[0] - alone) // 3
    assert 0 < verdict < alone
    assert written(best_of={"samples": 3}) == (3 * alone, 3 * alone)
    assert written(best_of={"samples": 3, "judge": "Ann"}) == (3 * alone, 3 * alone + verdict)
    # All samples but one may be refused by their gates, before anybody reviews them.
    assert written(best_of={"samples": 2}, review=review) == (
        2 * alone + 3 * verdict,
        2 * (alone + 3 * verdict),
    )


def test_the_most_has_all_attempts_of_which_each_reads_what_was_not_accepted() -> None:
    first, second = (most(of(step(1)), SwarmOptions(max_attempts=n)) for n in (1, 2))
    assert second.output_tokens == 2 * first.output_tokens
    assert second.input_tokens == 2 * first.input_tokens + TYPICAL_ANSWER


def test_the_most_is_paid_at_the_dearest_model_that_a_step_may_climb_to() -> None:
    options = SwarmOptions(
        worker="test", architect="openai:gpt-4o", coder="openai:gpt-4o-mini", max_attempts=2
    )

    def price_of(name: str) -> Price | None:
        return {"test": FREE, "openai:gpt-4o": DOLLAR}.get(name, FREE)

    cheap, dear = ends(of(step(1)), options, price_of)
    assert cheap.usd == 0
    assert dear.usd == pytest.approx(
        0.001 * (dear.input_tokens - cheap.input_tokens) + 0.002 * TYPICAL_ANSWER
    )
    unknown = ends(of(step(1)), options, lambda name: FREE if name == "test" else None)
    assert [each.usd for each in unknown] == [0, None]


def test_where_a_price_is_not_known_no_sum_is_made_up() -> None:
    assert [each.usd for each in ends(of(step(1), step(2)), price_of=lambda _: None)] == [None] * 2


def found_by(n: int, *needs: int, **fields: Any) -> dict[str, Any]:
    return step(n, *needs, output={"kind": "json"}, **fields)


def test_each_of_at_most_so_many_items_is_counted_and_all_share_the_list() -> None:
    def spread(max_items: int) -> tuple[Estimate, Estimate]:
        for_each = {"items": "S1", "at": "", "max_items": max_items}
        return ends(of(found_by(1), step(2, for_each=for_each), final_step="S2"), ONCE)

    for count in (1, 10, 100):
        few, many = spread(count)
        assert few.output_tokens == TYPICAL_ANSWER
        assert many.output_tokens == (1 + count) * TYPICAL_ANSWER
    prompts = spread(20)[1].input_tokens - spread(10)[1].input_tokens
    assert prompts < 10 * 20, "ten more prompts, and not a list more"


def test_what_reads_all_instances_reads_the_answer_of_each() -> None:
    def read(count: int) -> float:
        for_each = {"items": [f"item {n}" for n in range(count)]}
        return least(of(step(1, for_each=for_each), step(2, 1), final_step="S2")).input_tokens

    assert read(12) - read(2) > 10 * TYPICAL_ANSWER


def test_bounds_within_one_another_multiply() -> None:
    inner = step(1, for_each={"items": ["a", "b", "c"]})
    outer = {
        "id": "S1",
        "plan": {"agents": [], "steps": [inner, found_by(2, 1)]},
        "for_each": {"items": [*range(5)]},
        "repeat": {"until": {"at": "/x", "empty": True}, "max_rounds": 4},
    }
    few, many = ends(of(outer), ONCE)
    assert few.output_tokens == 5 * (3 + 1) * TYPICAL_ANSWER
    assert many.output_tokens == 5 * 4 * (3 + 1) * TYPICAL_ANSWER


def test_a_round_reads_the_one_before() -> None:
    def read(rounds: int) -> float:
        repeat = {"until": {"at": "/x", "empty": True}, "max_rounds": rounds}
        return most(of(found_by(1, repeat=repeat)), ONCE).input_tokens

    assert read(3) == pytest.approx(3 * read(1) + 2 * TYPICAL_ANSWER)


@st.composite
def programs(draw: st.DrawFn) -> tuple[TaskIR, TaskIR]:
    """A plan, and the same one with bounds that are as high or higher."""
    more = st.integers(0, 20)

    def two(low: int) -> tuple[int, int]:
        base = low + draw(more)
        return base, base + draw(more)

    items, lists, rounds, votes = two(1), two(1), two(1), sorted(draw(st.tuples(more, more)))
    votes = [1 + votes[0] % 9, 9]
    has_plan, has_review, gathers = (draw(st.booleans()) for _ in range(3))

    def made(end: int) -> TaskIR:
        follows = {"items": "S2", "at": "", "max_items": lists[end]}
        until = "no_new_items" if gathers else {"at": "/x", "empty": True}
        repeat = {"until": until, "max_rounds": rounds[end]}
        review = {"review": {"agent": "Ann", "votes": votes[end]}} if has_review else {}
        second = {"for_each": {"items": "S1", "at": "", "max_items": items[end]}, "repeat": repeat}
        inner = {"plan": {"steps": [found_by(1, **review), found_by(2, 1)]}, "id": "S2"}
        worked = {**inner, **second} if has_plan else found_by(2, **second, **review)
        third = step(3, for_each=follows)
        return of(found_by(1), worked, third, step(4, 2, 3), final_step="S4")

    return made(0), made(1)


@given(programs())
def test_the_most_is_never_below_the_least_and_never_falls_where_a_bound_rises(
    plans: tuple[TaskIR, TaskIR],
) -> None:
    (few, many), (_, higher) = (
        ends(each, SwarmOptions(max_attempts=3), lambda _: DOLLAR) for each in plans
    )

    def figures(found: Estimate) -> tuple[float, ...]:
        return found.input_tokens, found.output_tokens, found.usd or 0

    assert all(low <= high for low, high in zip(figures(few), figures(many), strict=True))
    pairs = zip(figures(many), figures(higher), strict=True)
    assert all(low <= high + 1e-6 for low, high in pairs)
    assert needed(plans[0]).tokens <= few.tokens


def test_only_what_depends_on_what_is_found_is_shown_as_a_range() -> None:
    assert not is_varied(compile_plan(of(step(1), step(2, 1))))
    assert is_varied(compile_plan(of(step(1, for_each={"items": ["a"]}))))
    assert is_varied(compile_plan(of(step(1, best_of={"samples": 2}))))


def test_a_plan_reads_its_prompts_and_inputs_at_the_least() -> None:
    plain = needed(of(step(1), step(2, 1)))
    assert 10 < plain.tokens < 40
    assert plain.usd == pytest.approx(plain.tokens * 0.001)
    assert needed(of(step(1), step(2, 1), inputs={"a": "x" * 3000})).tokens == plain.tokens + 1000
    one, ten = (needed(of(step(1, for_each={"items": [*range(n)]}))).tokens for n in (1, 10))
    assert ten == 10 * one


def test_a_plan_for_each_document_reads_all_of_them_at_the_least() -> None:
    papers = {f"{n}.pdf": "x" * 3000 for n in range(10)}
    plan = of(step(1, for_each={"items": "*.pdf"}), inputs=papers)
    assert needed(plan).tokens > 10 * 1000
    assert needed(plan, max_input_tokens=100).tokens < 10 * 200


def test_what_a_condition_may_skip_or_a_run_has_to_find_is_not_certain() -> None:
    condition = {"step": "S1", "exists": True}
    first = needed(of(found_by(1)))
    assert needed(of(found_by(1), step(2, 1, when=condition))) == first
    assert needed(of(found_by(1), step(2, for_each={"items": "S1", "at": ""}))) == first


def test_steps_that_are_done_are_not_needed_again() -> None:
    plan = of(step(1), step(2, 1))
    options = SwarmOptions()
    found = sizes_of(plan, options)
    left = least_of_plan(compile_plan(plan), found, options, lambda _: FREE, {"S1"})
    assert left.tokens == needed(plan).tokens - needed(of(step(1))).tokens


def test_members_read_their_items_documents_and_steps_inside_at_the_least() -> None:
    def read(count: int, **fields: Any) -> int:
        papers = {f"{n}.pdf": "x" * 3000 for n in range(count)}
        plan = of({"id": "S1", "for_each": {"items": "*"}, **fields}, inputs=papers)
        options, compiled = SwarmOptions(), compile_plan(plan)
        members = instances_of(compiled.steps[0], file_items([*papers]))
        found = sizes_of(plan, options)
        return least_of_members(members, compiled, found, options, lambda _: FREE).tokens

    assert read(4, **work()) > 4 * 1000
    inner = {"steps": [step(1), step(2, 1)]}
    assert read(4, plan=inner) > read(4, **work())
    maybe = step(2, 1, when={"step": "S1", "exists": True})
    assert read(4, plan={"steps": [step(1), maybe]}) < read(4, plan=inner)


def work() -> dict[str, Any]:
    return {name: value for name, value in step(1).items() if name in ("agent", "prompt")}


def test_an_item_that_was_found_is_read_by_its_instance() -> None:
    plan = of(found_by(1), step(2, for_each={"items": "S1", "at": ""}, prompt="Read it."))
    options, compiled = SwarmOptions(), compile_plan(plan)
    members = instances_of(compiled.steps[1], [item_of({"text": "x" * 3000})] * 3)
    found = sizes_of(plan, options)
    assert least_of_members(members, compiled, found, options, lambda _: FREE).tokens > 3000


def test_what_does_not_suffice_is_said_with_what_is_left() -> None:
    needed, spent = Amount(9_120, 0.5), Amount(3_000, 0.1)
    assert shortage(Budget(), spent, needed) == ""
    assert shortage(Budget(max_tokens=12_120, max_usd=0.6), spent, needed) == ""
    assert shortage(Budget(max_tokens=5_000), spent, needed) == (
        "read 9,120 tokens at least, and 2,000 are left"
    )
    assert shortage(Budget(max_usd=0.05), spent, needed) == (
        "cost $0.5000 at least, and $0.0000 is left"
    )


def test_a_name_tells_the_price_without_a_model() -> None:
    assert price_of_name("demo") == price_of_name("llamacpp:/models/x.gguf") == FREE
    gpt = price_of_name("openai:gpt-4o")
    assert gpt is not None
    assert gpt.output_usd > gpt.input_usd > 0
    assert price_of_name("openai:gpt-4o@http://localhost:1/v1") == gpt
    for unknown in ("openai:no-such-model", "block:llama-cpp/x", "python:gpt#1", "nowhere:x"):
        assert price_of_name(unknown) is None
