"""One decision for each failure, by the table, always with an end."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import Category
from prefect_swarm.plan.task_ir import TIERS, Tier
from prefect_swarm.store.attempt import Action, Decision, ShownAttempt
from prefect_swarm.store.failure_policy import Policy
from prefect_swarm.store.result import Mitigation
from prefect_swarm.tasks.failure_router import ATTEMPTS_SPENT, Bounds, Failure, feedback, route

POLICY = Policy()
MANY = Bounds(max_attempts=30, replans_left=1)
SYMPTOM = "gate unit: <call> raised"


def after(
    category: Category, *tiers: Tier, bounds: Bounds = MANY, policy: Policy = POLICY
) -> Decision:
    return route([Failure(category, tier, "it broke") for tier in tiers], policy, bounds)


@pytest.mark.parametrize(
    ("category", "tiers", "action", "tier"),
    [
        (Category.FORMAT, ("worker",), "RETRY", "worker"),
        (Category.FORMAT, ("worker",) * 2, "RETRY", "worker"),
        (Category.FORMAT, ("worker",) * 3, "FAIL", None),
        (Category.SCHEMA, ("worker",), "RETRY", "worker"),
        (Category.SCHEMA, ("worker",) * 3, "FAIL", None),
        (Category.CODE, ("worker",) * 2, "RETRY", "worker"),
        (Category.CODE, ("worker",) * 3, "ESCALATE", "coder"),
        (Category.CODE, ("architect",) * 3, "SAMPLE", "architect"),
        (Category.CODE, ("architect",) * 4, "REPLAN", "architect"),
        (Category.CODE, ("architect",) * 5, "FAIL", None),
        (Category.LOGIC, ("worker",), "RETRY", "worker"),
        (Category.LOGIC, ("worker",) * 2, "ESCALATE", "coder"),
        (Category.TIMEOUT, ("worker",), "ESCALATE", "coder"),
        (Category.TIMEOUT, ("worker", "coder"), "ESCALATE", "architect"),
        (Category.TIMEOUT, ("worker", "coder", "architect"), "REPLAN", "architect"),
        (Category.EARLY_ABORT, ("worker",), "ESCALATE", "coder"),
        (Category.INFRASTRUCTURE, ("worker",), "RETRY", "worker"),
        (Category.INFRASTRUCTURE, ("worker",) * 3, "FAIL", None),
        (Category.BUDGET, ("worker",), "FAIL", None),
        (Category.UPSTREAM, ("worker",), "FAIL", None),
        (Category.UNKNOWN, ("worker",) * 2, "ESCALATE", "coder"),
    ],
)
def test_the_table(
    category: Category, tiers: tuple[Tier, ...], action: str, tier: Tier | None
) -> None:
    decision = after(category, *tiers)
    assert (decision.action, decision.tier) == (action, tier)
    assert decision.reason


COLUMNS = [(True, True), (True, False), (False, True), (False, False)]
"""Whether a tier is above, and whether a replacement is left."""
RULES_SPELT_OUT = """
FORMAT          RETRY RETRY
SCHEMA          RETRY RETRY
CODE            RETRY RETRY ESCALATE SAMPLE REPLAN    | RETRY RETRY ESCALATE SAMPLE \
              | RETRY RETRY SAMPLE REPLAN             | RETRY RETRY SAMPLE
LOGIC           RETRY ESCALATE SAMPLE REPLAN          | RETRY ESCALATE SAMPLE \
              | RETRY SAMPLE REPLAN                   | RETRY SAMPLE
TIMEOUT         ESCALATE REPLAN                       | ESCALATE        | REPLAN        | .
EARLY_ABORT     ESCALATE SAMPLE REPLAN                | ESCALATE SAMPLE | SAMPLE REPLAN | SAMPLE
TRUNCATED       CONTINUE CONTINUE ESCALATE            | CONTINUE CONTINUE ESCALATE \
              | CONTINUE CONTINUE                     | CONTINUE CONTINUE
REFUSED         ESCALATE REPLAN                       | ESCALATE        | REPLAN        | .
UNAVAILABLE     ESCALATE                              | ESCALATE        | .             | .
CONFLICT        RETRY ESCALATE RETRY REPLAN           | RETRY ESCALATE RETRY \
              | RETRY RETRY REPLAN                    | RETRY RETRY
INFRASTRUCTURE  RETRY RETRY
BUDGET          .
UPSTREAM        .
UNKNOWN         RETRY ESCALATE REPLAN                 | RETRY ESCALATE  | RETRY REPLAN  | RETRY
"""
"""What each failure leads to, the first one first, by `COLUMNS`; one column stands for all."""
NEXT_TIERS: dict[tuple[tuple[Tier, ...], Tier], Tier] = {
    (("worker", "coder"), "worker"): "coder",
    (("worker", "coder", "architect"), "worker"): "coder",
    (("worker", "coder", "architect"), "coder"): "architect",
    (("worker", "architect"), "worker"): "architect",
    (("worker", "architect"), "coder"): "architect",
}
"""The tier above another on a ladder, where there is one."""
LADDERS: list[tuple[Tier, ...]] = [TIERS[:1], TIERS[:2], TIERS, ("worker", "architect")]


def spelt_out(category: Category, *, above: bool, replans: bool) -> list[str]:
    for line in RULES_SPELT_OUT.strip().splitlines():
        name, _, row = line.partition(" ")
        if name == category.name:
            columns = row.split("|")
            column = columns[COLUMNS.index((above, replans)) if len(columns) > 1 else 0]
            return [str(action) for action in column.replace(".", "").split()]
    raise AssertionError(category)


@pytest.mark.parametrize("category", Category)
def test_every_failure_leads_where_the_table_says(category: Category) -> None:
    for tier, ladder, optional, replans in product(TIERS, LADDERS, (False, True), (0, 1)):
        bounds = Bounds(30, ladder, optional=optional, replans_left=replans)
        above = NEXT_TIERS.get((ladder, tier))
        actions = spelt_out(category, above=above is not None, replans=bool(replans))
        wanted = [(action, above if action == "ESCALATE" else tier) for action in actions]
        wanted += [("SKIP" if optional else "FAIL", None)] * (7 - len(wanted))
        tiers: list[Tier] = [tier] * 7
        found = [after(category, *tiers[:times], bounds=bounds) for times in range(1, 8)]
        assert [(decision.action, decision.tier) for decision in found] == wanted, bounds


def test_an_optional_step_is_skipped_where_another_would_fail() -> None:
    assert after(Category.BUDGET, "worker", bounds=Bounds(optional=True)).action == "SKIP"


def test_the_last_attempt_is_the_last() -> None:
    decision = after(Category.CODE, "worker", bounds=Bounds(max_attempts=1))
    assert (decision.action, decision.rule) == ("FAIL", "attempts spent")


def test_an_infrastructure_failure_is_not_counted_as_an_attempt() -> None:
    history = [
        Failure(Category.INFRASTRUCTURE, "worker", "no route to host"),
        Failure(Category.CODE, "worker", "NameError"),
    ]
    assert route(history, POLICY, Bounds(max_attempts=2)).action == "RETRY"


def test_an_unavailable_provider_is_not_counted_as_an_attempt() -> None:
    history = [
        Failure(Category.UNAVAILABLE, "worker", "401"),
        Failure(Category.CODE, "coder", "NameError"),
    ]
    assert route(history, POLICY, Bounds(max_attempts=2)).action == "RETRY"


def test_an_answer_that_is_cut_off_is_written_on_and_at_last_kept() -> None:
    alone = Bounds(ladder=("worker",), can_keep=True)
    cut = Failure(Category.TRUNCATED, "worker", "cut off")
    again = Failure(Category.TRUNCATED, "worker", "cut off", action="CONTINUE")
    assert route([cut], POLICY, alone).action == "CONTINUE"
    assert route([cut, again], POLICY, alone).action == "CONTINUE"
    assert route([cut, again, again], POLICY, alone).action == "KEEP"
    assert route([cut, again, again], POLICY, Bounds(ladder=("worker",))).action == "FAIL"


def test_where_no_attempt_is_left_a_cut_text_is_kept_too() -> None:
    decision = route(
        [Failure(Category.TRUNCATED, "worker", "cut off")],
        POLICY,
        Bounds(max_attempts=1, can_keep=True),
    )
    assert (decision.action, decision.rule) == ("KEEP", "attempts spent")


def test_the_delay_doubles_with_each_infrastructure_failure() -> None:
    once = after(Category.INFRASTRUCTURE, "worker")
    twice = after(Category.INFRASTRUCTURE, "worker", "worker")
    assert (once.delay_s, twice.delay_s) == (1.0, 2.0)
    assert after(Category.CODE, "worker").delay_s == 0


def test_a_tier_of_the_same_model_is_no_escalation() -> None:
    alone = Bounds(max_attempts=9, ladder=("worker",))
    assert after(Category.TIMEOUT, "worker", bounds=alone).action == "FAIL"
    assert after(Category.LOGIC, "worker", "worker", bounds=alone).action == "SAMPLE"


def test_delegate_is_passed_over_without_another_persona() -> None:
    policy = Policy(rules={Category.LOGIC: ("DELEGATE", "RETRY")})
    assert after(Category.LOGIC, "worker", policy=policy).action == "RETRY"
    bounds = Bounds(can_delegate=True)
    assert after(Category.LOGIC, "worker", policy=policy, bounds=bounds).action == "DELEGATE"


def test_a_rule_can_end_a_step_by_itself() -> None:
    policy = Policy(rules={Category.LOGIC: ("RETRY", "SKIP")})
    decision = after(Category.LOGIC, "worker", "worker", policy=policy)
    assert (decision.action, decision.tier) == ("SKIP", None)


def test_a_step_that_was_replaced_begins_its_rules_again() -> None:
    before = [Failure(Category.CODE, "worker", "old", revision=0)] * 4
    decision = route([*before, Failure(Category.CODE, "worker", "new", revision=1)], POLICY, MANY)
    assert decision.action == "RETRY"


def test_the_decision_says_what_it_rests_on() -> None:
    decision = after(Category.SCHEMA, "worker", "worker")
    assert decision.rule == "SCHEMA: RETRY → RETRY"
    assert decision.reason == "SCHEMA failure 2 on tier worker"
    assert decision.evidence == "it broke"


def test_sampling_says_how_many() -> None:
    alone = Bounds(ladder=("worker",))
    assert after(Category.LOGIC, "worker", "worker", bounds=alone).samples == POLICY.samples
    assert after(Category.LOGIC, "worker").samples == 1


def knows(action: Action, worked: int, tried: int, target: str = "") -> Mitigation:
    example = ShownAttempt(run="r0", step="S9", attempt=2, text=f"{action} passed as “ok”")
    return Mitigation(
        symptom=SYMPTOM, action=action, target=target, tried=tried, worked=worked, example=example
    )


def failing(*led: Action | None) -> list[Failure]:
    return [Failure(Category.CODE, "worker", "broke", action, symptom=SYMPTOM) for action in led]


def test_what_has_repaired_such_failures_comes_before_what_has_not() -> None:
    known = (knows("RETRY", 0, 6), knows("SAMPLE", 5, 6))
    bounds = Bounds(ladder=("worker",), replans_left=1, known=known)
    first = route(failing(None), POLICY, bounds)
    assert (first.action, first.samples) == ("SAMPLE", POLICY.samples)
    assert first.rule == "CODE: SAMPLE (by memory)"
    assert first.reason.endswith("SAMPLE repaired 5 of 6 such failures, RETRY repaired 0 of 6")
    led: list[Action | None] = [None]
    while (decision := route(failing(*led), POLICY, bounds)).tier and decision.action != "REPLAN":
        led.append(decision.action)
    assert led == [None, "SAMPLE", "RETRY", "RETRY"]


def test_what_has_not_earned_its_place_changes_nothing() -> None:
    for known in ((knows("SAMPLE", 6, 6),), (knows("RETRY", 0, 2), knows("SAMPLE", 2, 2))):
        bounds = Bounds(ladder=("worker",), known=known)
        assert route(failing(None), POLICY, bounds) == route(
            failing(None), POLICY, Bounds(ladder=("worker",))
        )


def test_another_failure_is_another_matter() -> None:
    bounds = Bounds(known=(knows("RETRY", 0, 6), knows("ESCALATE", 6, 6, "coder")))
    assert route(failing(None), POLICY, bounds).tier == "coder"
    other = Failure(Category.CODE, "worker", "broke", symptom="gate lint: else")
    assert route([other], POLICY, bounds).tier == "worker"


def test_what_has_repaired_such_a_failure_is_shown_where_it_is_done_again() -> None:
    bounds = Bounds(known=(knows("RETRY", 5, 6),))
    example = route(failing(None), POLICY, bounds).example
    assert example is not None
    assert example.text == "RETRY passed as “ok”"
    assert route(failing(None, "RETRY", "RETRY"), POLICY, bounds).example is None
    assert route(failing(None), POLICY, Bounds(known=(knows("RETRY", 1, 6),))).example is None


def test_feedback_is_the_newest_first_and_nothing_twice() -> None:
    messages = ["one", "two", "two", "no route"]
    kinds = [Category.CODE] * 3 + [Category.INFRASTRUCTURE]
    history = [Failure(kind, "worker", text) for kind, text in zip(kinds, messages, strict=True)]
    assert feedback(history, 600) == "two Before that: one"


def test_feedback_is_bounded() -> None:
    long = [Failure(Category.CODE, "worker", f"{n} {'x' * 400}") for n in range(9)]
    assert len(feedback(long, 600)) < 640


tables = st.fixed_dictionaries(
    {
        category: st.lists(
            st.sampled_from(
                [
                    "RETRY",
                    "CONTINUE",
                    "THINK_HARDER",
                    "SAMPLE",
                    "DELEGATE",
                    "ESCALATE",
                    "REPLAN",
                    "ASK",
                    "SKIP",
                ]
            ),
            max_size=5,
        )
        for category in Category
        if category not in (Category.BUDGET, Category.UPSTREAM)
    }
)


memories = st.lists(
    st.builds(
        knows,
        st.sampled_from(["RETRY", "SAMPLE", "DELEGATE", "ESCALATE", "REPLAN", "ASK"]),
        st.integers(0, 4),
        st.integers(4, 9),
        st.sampled_from(["", "coder", "architect"]),
    ),
    max_size=8,
)


@given(
    tables,
    st.lists(st.sampled_from(list(Category)), min_size=80, max_size=80),
    st.integers(1, 12),
    st.integers(0, 3),
    memories,
    st.sampled_from(LADDERS),
    st.booleans(),
)
def test_any_table_ends_within_the_attempts_and_never_climbs_down(
    rules: dict[Category, list[Action]],
    categories: list[Category],
    most: int,
    replans: int,
    known: list[Mitigation],
    ladder: tuple[Tier, ...],
    optional: bool,
) -> None:
    policy = Policy.model_validate({"rules": rules})
    history: list[Failure] = []
    tier: Tier | None = "worker"
    action: Action | None = None
    revision = given = 0
    for category in categories:
        history.append(Failure(category, tier, "it broke", action, revision, symptom=SYMPTOM))
        bounds = Bounds(
            most, ladder, optional, replans - revision, can_delegate=optional, known=tuple(known)
        )
        decision = route(history, policy, bounds)
        action = decision.action
        revision += action == "REPLAN"
        # What a person may give to a step that has had all its attempts.
        given += (action, decision.rule) == ("ASK", ATTEMPTS_SPENT)
        if decision.tier is None:
            break
        assert decision.action in rules[category]
        assert TIERS.index(decision.tier) >= TIERS.index(tier)
        assert decision.tier in (tier, *ladder)
        tier = decision.tier
    else:
        raise AssertionError("80 failures did not end the step")
    assert action in ("SKIP", "FAIL")
    assert (
        sum(failure.category is not Category.INFRASTRUCTURE for failure in history) <= most + given
    )
    assert given <= max(list(row).count("ASK") for row in policy.rules.values())


# --- asking a person ------------------------------------------------------------------------------

ASKING = Policy.model_validate({"rules": {"CODE": ["RETRY", "ASK"]}})


def code(action: Action | None = None) -> Failure:
    return Failure(Category.CODE, "worker", "it broke", action=action)


def test_a_person_is_asked_when_the_table_says_so_about_one_more_attempt() -> None:
    assert route([code()], ASKING, MANY).action == "RETRY"
    decision = route([code(), code("RETRY")], ASKING, MANY)
    assert (decision.action, decision.tier) == ("ASK", "worker")
    assert route([code(), code("RETRY"), code("ASK")], ASKING, MANY).action == "FAIL"


def test_ask_is_passed_over_for_an_optional_step() -> None:
    optional = Bounds(max_attempts=30, optional=True)
    assert route([code(), code("RETRY")], ASKING, optional).action == "SKIP"


def test_where_the_attempts_are_spent_a_person_may_give_another_once() -> None:
    spent = Bounds(max_attempts=1)
    decision = route([code()], ASKING, spent)
    assert (decision.action, decision.rule) == ("ASK", "attempts spent")
    assert route([code(), code("ASK")], ASKING, spent).action == "FAIL"


def test_the_memory_neither_brings_a_person_forward_nor_leaves_them_out() -> None:
    known = (knows("RETRY", 0, 20), knows("ASK", 20, 20))
    failure = Failure(Category.CODE, "worker", "it broke", symptom=SYMPTOM)
    assert route([failure], ASKING, Bounds(known=known)).action == "RETRY"
    first = Policy.model_validate({"rules": {"CODE": ["ASK", "RETRY"]}})
    better = (knows("RETRY", 20, 20), knows("ASK", 0, 20))
    assert route([failure], first, Bounds(known=better)).action == "ASK"
