"""The facts' text: bounded, the same each time, and with nothing in it that asks for anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import Category
from prefect_swarm.tasks.planner.facts import (
    EarlierPlan,
    EarlierStep,
    GateFact,
    PersonaFact,
    PlanningFacts,
    TierFact,
)
from prefect_swarm.tasks.planner.facts_text import MOST_TOKENS, facts_text, room_for
from prefect_swarm.tasks.subagent.request import tokens_of

TEXTS = st.text(max_size=300)
STEPS = st.builds(
    EarlierStep,
    id=st.sampled_from(["S1", "S2", "S30"]),
    agent=TEXTS,
    prompt=TEXTS,
    needs=st.lists(st.sampled_from(["S1", "S2"]), max_size=12).map(tuple),
    attempts=st.integers(1, 9),
    work_s=st.floats(0, 1e6),
    failed=st.sampled_from([None, Category.LOGIC]),
)
PLANS = st.builds(
    EarlierPlan,
    run=TEXTS,
    objective=TEXTS,
    status=st.sampled_from(["completed", "partial", "failed", "unfinished"]),
    makespan_s=st.floats(0, 1e6),
    steps=st.lists(STEPS, min_size=1, max_size=12).map(tuple),
    more_steps=st.integers(0, 300),
)
FACTS = st.builds(
    PlanningFacts,
    tiers=st.lists(st.builds(TierFact, tiers=st.just(("worker",)), model=TEXTS), max_size=3).map(
        tuple
    ),
    gates=st.lists(st.builds(GateFact, name=st.just("lint"), about=TEXTS), max_size=12).map(tuple),
    personas=st.lists(
        st.builds(
            PersonaFact,
            name=TEXTS,
            title=TEXTS,
            task_types=st.just(("*/text",)),
            good_at=TEXTS,
            attempts=st.integers(0, 9),
            rate=st.floats(0, 1),
        ),
        max_size=24,
    ).map(tuple),
    plans=st.lists(PLANS, max_size=3).map(tuple),
)


def plan(run: str = "r1", **fields: object) -> EarlierPlan:
    steps = (
        EarlierStep(id="S1", agent="Tea Expert", prompt="Describe tea", work_s=3.2),
        EarlierStep(
            id="S2",
            agent="Judge",
            prompt="Compare",
            needs=("S1",),
            attempts=3,
            work_s=9.0,
            failed=Category.LOGIC,
        ),
    )
    given_fields = {"objective": "Judge tea", "status": "partial", "makespan_s": 12.3}
    return EarlierPlan.model_validate({"run": run, "steps": steps, **given_fields, **fields})


def persona(name: str, attempts: int = 0) -> PersonaFact:
    return PersonaFact(
        name=name, title=name.title(), task_types=("*/text",), attempts=attempts, rate=0.5
    )


FULL = PlanningFacts(
    tiers=(
        TierFact(tiers=("worker", "coder"), model="small", read_usd=0.15, written_usd=0.6),
        TierFact(tiers=("architect",), model="mine.gguf", read_usd=0.0, written_usd=0.0),
    ),
    gates=(GateFact(name="lint", about="code without faults", default_for=("python",)),),
    personas=(persona("judge", 4), persona("editor")),
    plans=(plan("r1"), plan("r2"), plan("r3")),
)


@given(FACTS, st.integers(0, 3000))
def test_the_text_keeps_its_bound(facts: PlanningFacts, most_tokens: int) -> None:
    assert tokens_of(facts_text(facts, most_tokens).text) <= most_tokens


@given(FACTS, st.integers(0, 1500))
def test_the_same_facts_give_the_same_text_after_being_stored(
    facts: PlanningFacts, most_tokens: int
) -> None:
    stored = PlanningFacts.model_validate_json(facts.model_dump_json())
    assert facts_text(stored, most_tokens) == facts_text(facts, most_tokens)


@given(FACTS)
def test_each_quote_is_closed_where_it_was_opened(facts: PlanningFacts) -> None:
    for line in facts_text(facts).text.splitlines():
        pairs = "".join(mark for mark in line if mark in "“”")
        assert pairs == "“”" * (len(pairs) // 2)


def test_the_text_says_what_there_is_and_how_it_ended() -> None:
    lines = facts_text(FULL).text.splitlines()
    assert "- worker, coder: small, $0.15 a million tokens read, $0.60 written" in lines
    assert "- architect: mine.gguf, free: it runs on this machine" in lines
    assert "- lint (python): code without faults" in lines
    assert "- “Judge”, for */text: 4 attempts, 50% succeeded" in lines
    assert "- “Editor”, for */text" in lines
    start = lines.index(
        "- Objective “Judge tea” (run “r1”): partial, makespan 12.3 s, failed: S2 LOGIC"
    )
    assert lines[start + 1 : start + 3] == [
        "  S1 “Tea Expert”: “Describe tea” (3.2 s)",
        "  S2 “Judge”: “Compare” <- S1 (3 attempts, 9.0 s)",
    ]


def test_what_is_least_useful_is_dropped_first() -> None:
    order: list[str] = []
    shown: set[str] = {"r1", "r2", "r3", "judge", "editor"}
    for most in range(MOST_TOKENS, -1, -1):
        text = facts_text(FULL, most)
        now = {*text.runs, *text.personas}
        assert now <= shown
        order += sorted(shown - now)
        shown = now
    assert order == ["editor", "r3", "r2", "judge", "r1"]
    assert facts_text(FULL, 0).text == ""


def test_nothing_is_written_for_nothing() -> None:
    assert facts_text(PlanningFacts()) == ("", (), ())


@pytest.mark.parametrize(
    ("context", "room"), [(None, 1500), (200_000, 1500), (4096, 512), (2048, 256)]
)
def test_a_planner_with_a_small_context_reads_less(context: int | None, room: int) -> None:
    assert room_for(context) == room
