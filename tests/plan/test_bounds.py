"""The extent of a plan: exact figures by example, and bounds that no expansion leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prefect_swarm.plan.bounds import (
    MAX_INSTANCES,
    MOST_COUNTED,
    Extent,
    ItemCount,
    Range,
    extent_problem,
    extents,
    total,
)
from prefect_swarm.plan.program import ForEach
from prefect_swarm.plan.task_ir import Agent, Escalation, InnerPlan, Step, TaskIR, final_step

ATTEMPTS = 3
WHEN = {"step": "S1", "exists": True}
UNTIL = {"at": "/problems", "empty": True}


def work(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "agent": "Ann", "prompt": f"do {name}", **fields}


def around(name: str, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    last = fields.pop("final_step", None)
    return {"id": name, "plan": {"steps": [*steps], "final_step": last}, **fields}


def plan_of(*steps: dict[str, Any] | Step, max_attempts: int | None = None) -> TaskIR:
    """A plan whose steps are valid one by one: what they come to doesn't need more."""
    return TaskIR.model_construct(
        objective="do it",
        agents=(Agent(name="Ann", system_prompt="You work."),),
        steps=tuple(Step.model_validate(step) for step in steps),
        escalation=Escalation(max_attempts=max_attempts),
    )


def found(name: str, *steps: dict[str, Any], count: ItemCount | None = None) -> Extent:
    return extents(plan_of(*steps), ATTEMPTS, count)[name]


def instances(name: str, *steps: dict[str, Any], count: ItemCount | None = None) -> Range:
    return found(name, *steps, count=count).instances


ONE = Range(1, 1)


def test_a_step_is_one_instance_with_its_attempts_and_a_request_each() -> None:
    assert found("S1", work("S1")) == Extent(ONE, Range(1, ATTEMPTS), Range(1, ATTEMPTS))


def test_a_plan_that_says_how_many_attempts_there_are_goes_before_the_default() -> None:
    plan = plan_of(work("S1"), max_attempts=7)
    assert extents(plan, ATTEMPTS)["S1"].attempts == Range(1, 7)


def test_a_step_that_joins_makes_no_requests() -> None:
    joins = {"id": "S2", "collect": "list", "depends_on": ["S1"]}
    assert found("S2", work("S1"), joins).requests == Range()


def test_reviewers_vote_on_each_attempt_that_passed() -> None:
    review = {"agent": "Ann", "votes": 2}
    assert found("S1", work("S1", review=review)).requests == Range(1 + 2, ATTEMPTS * (1 + 2))
    joins = {"id": "S1", "collect": "list", "review": review}
    assert found("S1", joins).requests == Range(2, ATTEMPTS * 2)


def test_samples_are_drawn_at_the_first_attempt_and_a_judge_is_asked_once() -> None:
    assert found("S1", work("S1", best_of={"samples": 4})).requests == Range(4, 3 + ATTEMPTS)
    judged = work("S1", best_of={"samples": 4, "judge": "Ann"})
    assert found("S1", judged).requests == Range(4, 3 + ATTEMPTS + 1)


@pytest.mark.parametrize(
    ("for_each", "expected"),
    [
        ({"items": ["a", "b", "c"]}, Range(3, 3)),
        ({"items": []}, Range()),
        ({"items": ["a", "b", "a", 1, 1.0, True, {"x": [1]}, {"x": [1.0]}]}, Range(5, 5)),
        ({"items": ["a", None, None]}, Range(2, 3)),
        ({"items": ["a", "b"], "key": "/x"}, Range(1, 2)),
        ({"items": ["a", "b"], "where": {"is": "a"}}, Range(0, 2)),
        ({"items": ["a", "b", "c"], "max_items": 2}, Range(0, 2)),
        ({"items": ["a", "b", "c"], "max_items": 2, "too_many": "first"}, Range(2, 2)),
        ({"items": ["a", "b", "c"], "max_items": 2, "too_many": "ask"}, Range(0, 3)),
        ({"items": "*.pdf"}, Range(0, 1000)),
        ({"items": "*.pdf", "max_items": 100}, Range(0, 100)),
        ({"items": "papers.csv", "max_items": 7}, Range(0, 7)),
        ({"items": "S1", "at": "/papers", "max_items": 50}, Range(0, 50)),
        ({"items": "S1"}, Range(0, 100)),
    ],
)
def test_a_step_for_each_comes_to_its_items(for_each: dict[str, Any], expected: Range) -> None:
    assert instances("S2", work("S1"), work("S2", for_each=for_each)) == expected


def test_items_that_are_counted_before_the_run_are_exact() -> None:
    def count(for_each: ForEach) -> int | None:
        return {"papers.csv": 12, "*.pdf": 400}.get(str(for_each.items))

    assert instances("S1", work("S1", for_each={"items": "papers.csv"}), count=count) == Range(
        12, 12
    )
    first = {"items": "*.pdf", "too_many": "first", "max_items": 100}
    assert instances("S1", work("S1", for_each=first), count=count) == Range(100, 100)
    assert instances("S1", work("S1", for_each={"items": "*.md"}), count=count) == Range(0, 1000)


LISTED = work("S1", for_each={"items": ["a", "b", "c"]}, repeat={"until": UNTIL, "max_rounds": 4})


def test_a_pipeline_has_as_many_instances_as_the_step_it_follows_has_items() -> None:
    assert instances("S1", LISTED) == Range(3, 12)
    assert instances("S2", LISTED, work("S2", for_each={"items": "S1"})) == Range(3, 3)
    where = {"items": "S1", "where": {"exists": True}}
    assert instances("S2", LISTED, work("S2", for_each=where)) == Range(0, 3)


def test_a_pipeline_into_lists_multiplies_by_the_most_items() -> None:
    lists = work("S2", for_each={"items": "S1", "at": "", "max_items": 10})
    assert instances("S2", LISTED, lists) == Range(0, 30)
    follows = work("S3", for_each={"items": "S2"})
    assert instances("S3", LISTED, lists, follows) == Range(0, 30)


def test_a_condition_may_leave_a_step_and_those_that_need_it_alone_undone() -> None:
    maybe = work("S2", when=WHEN)
    needs = work("S3", depends_on=["S2"])
    needs_both = work("S4", depends_on=["S1", "S3"])
    found = extents(plan_of(work("S1"), maybe, needs, needs_both), 1)
    assert [each.instances.least for each in found.values()] == [1, 0, 0, 1]


def test_a_pipeline_behind_a_condition_may_have_no_items() -> None:
    maybe = work("S2", when=WHEN, for_each={"items": ["a", "b"]})
    follows = work("S3", depends_on=["S1"], for_each={"items": "S2"})
    assert instances("S3", work("S1"), maybe, follows) == Range(0, 2)


def test_what_needs_a_step_whose_items_a_condition_may_skip_may_be_skipped_too() -> None:
    steps = [
        work("S1", when=WHEN),
        work("S2", for_each={"items": "S1"}),
        work("S3", depends_on=["S2"]),
    ]
    assert instances("S3", *steps) == Range(0, 1)


def test_reviewers_of_a_plan_inside_have_nothing_to_read_where_its_last_step_may_be_skipped() -> (
    None
):
    review = {"agent": "Ann", "votes": 3}
    step = around("S1", work("S1"), work("S2", depends_on=["S1"], when=WHEN), review=review)
    assert found("S1", step).requests == Range(1, 2 * ATTEMPTS + 3)


def test_a_plan_inside_multiplies_with_items_and_rounds() -> None:
    step = around(
        "S1",
        work("S1"),
        work("S2", depends_on=["S1"]),
        work("S3", depends_on=["S2"]),
        for_each={"items": [*range(50)]},
        repeat={"until": UNTIL, "max_rounds": 5},
        review={"agent": "Ann", "votes": 2},
    )
    extent = found("S1", step)
    assert extent.instances == Range(150, 750)
    assert extent.attempts == Range(150, 750 * ATTEMPTS)
    assert extent.requests == Range(150 + 50 * 2, 750 * ATTEMPTS + 250 * 2)


def test_the_total_is_the_sum_of_the_steps() -> None:
    plan = plan_of(LISTED, work("S2"), around("S3", work("S1"), work("S2")))
    assert total(extents(plan, 1)).instances == Range(3 + 1 + 2, 12 + 1 + 2)
    assert total({}) == Extent()


def many(count: int) -> list[dict[str, Any]]:
    return [work(f"S{n}") for n in range(1, count + 1)]


def test_a_plan_of_the_most_instances_has_no_problem() -> None:
    assert extent_problem(plan_of(*many(3))) == ""
    assert extent_problem(plan_of(work("S1", for_each={"items": "*", "max_items": 10_000}))) == ""


def test_a_problem_has_the_product() -> None:
    step = around(
        "S2",
        *many(3),
        for_each={"items": "S1", "max_items": 1_000},
        repeat={"until": UNTIL, "max_rounds": 5},
    )
    assert extent_problem(plan_of(work("S1"), step)) == (
        "can come to 15,001 instances, and 10,000 are the most: "
        "S2: 1,000 items × 5 rounds × 3 steps = 15,000"
    )


def test_a_problem_has_the_product_of_the_largest_step_inside() -> None:
    step = around(
        "S1",
        work("S1"),
        around("S2", *many(4), for_each={"items": "S1", "max_items": 10}),
        for_each={"items": "*", "max_items": 300},
    )
    assert extent_problem(plan_of(step)) == (
        "can come to 12,300 instances, and 10,000 are the most: "
        "S1: 300 items × 41 instances = 12,300, within it S1.S2: 10 items × 4 steps = 40"
    )


def test_a_problem_has_the_lists_of_a_pipeline_and_names_the_largest_steps_first() -> None:
    steps = [
        work("S1", for_each={"items": "*", "max_items": 60}),
        work("S2", for_each={"items": "S1", "at": "", "max_items": 200}),
        work("S3", for_each={"items": "S1"}),
        work("S4", for_each={"items": "S1"}),
    ]
    assert extent_problem(plan_of(*steps)) == (
        "can come to 12,180 instances, and 10,000 are the most: "
        "S2: 60 items × 200 items = 12,000; S1: 60 items = 60; S3: 60 items = 60; "
        "and 1 more such step"
    )


def test_a_problem_counts_the_items_that_are_known() -> None:
    step = around("S1", *many(200), for_each={"items": "*"})
    assert extent_problem(plan_of(step))
    assert extent_problem(plan_of(step), lambda _: 50) == ""


def test_a_plan_of_too_many_plain_steps_says_how_many() -> None:
    one = Step.model_validate(work("S1"))
    steps = [one.model_copy(update={"id": f"S{n}"}) for n in range(MAX_INSTANCES + 1)]
    plan = plan_of().model_copy(update={"steps": tuple(steps)})
    assert extent_problem(plan) == "can come to 10,001 instances, and 10,000 are the most"


def test_a_hostile_plan_is_counted_up_to_an_end() -> None:
    chain = [work("S1", for_each={"items": "*", "max_items": 10_000})]
    chain += [
        work(f"S{n}", for_each={"items": f"S{n - 1}", "at": "", "max_items": 10_000})
        for n in range(2, 301)
    ]
    fields: dict[str, Any] = {
        "for_each": {"items": "*", "max_items": 10_000},
        "repeat": {"until": "no_new_items", "max_rounds": 100},
    }
    plan = plan_of(around("S1", around("S1", around("S1", *chain, **fields), **fields), **fields))
    found = extents(plan, 10**9)["S1"]
    assert found == Extent(*[Range(0, MOST_COUNTED)] * 3)
    assert "S1.S1.S1.S4: over 10^18 items" not in extent_problem(plan)
    assert extent_problem(plan).startswith("can come to over 10^18 instances")
    assert len(extent_problem(plan)) < 500


def test_a_range_is_written_for_people() -> None:
    assert [str(Range(3, 3)), str(Range(3, 1_750))] == ["3", "3 to 1,750"]


# What may happen to a plan is drawn here, without a look at how its bounds are worked out.

_UNKNOWN = ["*", "papers.csv"]


@st.composite
def steps_of(draw: st.DrawFn, depth: int = 0) -> list[Step]:
    count = draw(st.integers(1, 4))
    return [draw(steps(n, depth)) for n in range(1, count + 1)]


@st.composite
def steps(draw: st.DrawFn, number: int, depth: int) -> Step:
    earlier = [f"S{n}" for n in range(1, number)]
    fields: dict[str, Any] = {"id": f"S{number}"}
    some = st.sampled_from([False, False, True])
    if earlier:
        fields["depends_on"] = draw(st.lists(st.sampled_from(earlier), unique=True, max_size=2))
    if draw(some):
        fields["when"] = WHEN
    kinds = ["agent", "agent", "collect", *(["plan"] if depth < 2 else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "agent":
        fields |= {"agent": "Ann", "prompt": f"do {number}"}
        if draw(some):
            judge = draw(st.sampled_from(["gates", "Ann"]))
            fields["best_of"] = {"samples": draw(st.integers(2, 4)), "judge": judge}
    elif kind == "collect":
        fields["collect"] = "list"
    else:
        fields["plan"] = InnerPlan(steps=tuple(draw(steps_of(depth + 1))))
    if draw(st.booleans()):
        literal = st.lists(st.none() | st.integers(0, 2) | st.booleans(), max_size=4)
        fields["for_each"] = {
            "items": draw(st.sampled_from([*_UNKNOWN, *earlier, *earlier, *earlier]) | literal),
            "at": draw(st.sampled_from([None, None, ""])),
            "max_items": draw(st.integers(1, 3)),
            "too_many": draw(st.sampled_from(["fail", "first", "ask"])),
            "where": draw(st.sampled_from([None, None, {"exists": True}])),
            "key": draw(st.sampled_from(["", "", "/id"])),
        }
    if draw(some):
        fields["repeat"] = {"until": UNTIL, "max_rounds": draw(st.integers(1, 3))}
    if draw(some):
        fields["review"] = {"agent": "Ann", "votes": draw(st.integers(1, 3))}
    return Step.model_validate(fields)


@dataclass
class Run:
    """A run of a plan in which everything that may differ is drawn."""

    data: st.DataObject
    max_attempts: int
    counts: list[int] = field(default_factory=lambda: [0, 0, 0])

    def all(self, steps: Sequence[Step]) -> dict[str, list[int]]:
        """Do the steps; return what each came to: instances, attempts, requests."""
        skipped: dict[str, bool] = {}
        items: dict[str, int | None] = {}
        came: dict[str, list[int]] = {}
        for step in steps:
            before = [*self.counts]
            skipped[step.id] = self.is_skipped(step, skipped)
            items[step.id] = None
            if step.for_each is not None:
                items[step.id] = 0 if skipped[step.id] else self.items(step.for_each, items)
            if not skipped[step.id]:
                number = items[step.id]
                for _ in range(1 if number is None else number):
                    self.rounds(step)
            came[step.id] = [now - then for now, then in zip(self.counts, before, strict=True)]
        self.skipped = skipped
        return came

    def is_skipped(self, step: Step, skipped: Mapping[str, bool]) -> bool:
        if step.when is not None and self.data.draw(st.booleans()):
            return True
        needs = [*step.depends_on]
        if step.for_each is not None and step.for_each.items in skipped:
            needs.append(str(step.for_each.items))
        return bool(needs) and all(skipped[name] for name in needs)

    def items(self, for_each: ForEach, earlier: Mapping[str, int | None]) -> int:
        items = for_each.items
        if not isinstance(items, str):
            number = self.taken(for_each, items)
            if number <= for_each.max_items:
                return number
            granted = {"fail": [0], "first": [for_each.max_items], "ask": [0, number]}
            return self.data.draw(st.sampled_from(granted[for_each.too_many]))
        followed = earlier.get(items)
        if followed is None:
            return self.data.draw(st.integers(0, for_each.max_items))
        if for_each.at is not None:
            return sum(self.data.draw(st.integers(0, for_each.max_items)) for _ in range(followed))
        if for_each.where is None and not for_each.key:
            return followed
        return self.data.draw(st.integers(0, followed))

    def taken(self, for_each: ForEach, items: Sequence[Any]) -> int:
        if for_each.where is not None:
            return self.data.draw(st.integers(0, len(items)))
        if for_each.key:
            return self.data.draw(st.integers(min(1, len(items)), len(items)))
        return len({(isinstance(item, bool), item) for item in items})

    def rounds(self, step: Step) -> None:
        most = step.repeat.max_rounds if step.repeat is not None else 1
        for _ in range(self.data.draw(st.integers(1, most))):
            self.once(step)

    def once(self, step: Step) -> None:
        votes = step.review.votes if step.review is not None else 0
        if step.plan is not None:
            self.all(step.plan.steps)
            last = step.plan.final_step or final_step(step.plan.steps)
            has_output = last is not None and not self.skipped[last]
            self.counts[2] += votes if has_output else 0
            return
        attempts = self.data.draw(st.integers(1, self.max_attempts))
        passed = self.data.draw(st.integers(1, attempts))
        self.counts[0] += 1
        self.counts[1] += attempts
        self.counts[2] += votes * passed
        if step.collect is None:
            self.counts[2] += attempts
        if step.best_of is not None:
            is_judged = step.best_of.judge != "gates" and self.data.draw(st.booleans())
            self.counts[2] += step.best_of.samples - 1 + is_judged


@settings(max_examples=300)
@given(steps_of(), st.integers(1, 3), st.data())
def test_no_run_of_a_plan_leaves_its_extent(
    steps: list[Step], max_attempts: int, data: st.DataObject
) -> None:
    found = extents(plan_of(*steps), max_attempts)
    came = Run(data, max_attempts).all(steps)
    for name, numbers in came.items():
        extent = found[name]
        ranges = (extent.instances, extent.attempts, extent.requests)
        assert all(
            each.least <= number <= each.most for each, number in zip(ranges, numbers, strict=True)
        )


@given(steps_of(), st.integers(1, 9))
def test_the_most_is_no_less_than_the_least_and_attempts_no_less_than_instances(
    steps: list[Step], max_attempts: int
) -> None:
    found = extents(plan_of(*steps), max_attempts)
    assert [*found] == [step.id for step in steps]
    for extent in (*found.values(), total(found)):
        assert 0 <= extent.instances.least <= extent.instances.most
        assert extent.instances.least <= extent.attempts.least <= extent.attempts.most
        assert 0 <= extent.requests.least <= extent.requests.most
        assert extent.instances.most <= extent.attempts.most


@given(st.integers(1, 30), st.integers(1, 9))
def test_a_plan_without_these_words_is_as_many_instances_as_steps(
    count: int, max_attempts: int
) -> None:
    found = total(extents(plan_of(*many(count)), max_attempts))
    one, tries = Range(count, count), Range(count, count * max_attempts)
    assert found == Extent(one, tries, tries)


@given(steps_of(), st.integers(1, 4))
def test_more_attempts_come_to_no_fewer_requests(steps: list[Step], max_attempts: int) -> None:
    fewer = total(extents(plan_of(*steps), max_attempts))
    more = total(extents(plan_of(*steps), max_attempts + 1))
    assert fewer.instances == more.instances
    assert fewer.requests.least == more.requests.least
    assert fewer.requests.most <= more.requests.most
