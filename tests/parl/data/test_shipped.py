"""Shipped data makes plans that the runtime reads and its grammar can write."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.parl.data.__main__ import check_pattern
from prefect_swarm.parl.data.expand import expand, seeded_random
from prefect_swarm.parl.data.generate import generate, kinds, patterns, split
from prefect_swarm.parl.data.noise import add_noise
from prefect_swarm.plan.task_ir import PlanRules
from prefect_swarm.tasks.planner.line_format import GRAMMAR_STEPS, grammar, read_lines, write_lines


def rule(name: str) -> str:
    """A rule of the grammar as a regular expression; the rules used have no recursion."""
    rules = dict(line.split(" ::= ", 1) for line in grammar().splitlines() if " ::= " in line)
    token = re.compile(r'"(?P<text>[^"]*)"|(?P<signs>\[(?:\\.|[^\]\\])*\])|(?P<rule>[a-z]+)|\s+')

    def instead(match: re.Match[str]) -> str:
        if match["text"] is not None:
            return f"(?:{re.escape(match['text'])})"
        if match["rule"]:
            return f"(?:{rule(match['rule'])})"
        return match["signs"] or ""

    return token.sub(instead, rules[name])


LINE = re.compile(rf"[0-9]+\. (?:{rule('name')}): (?:{rule('prompt')})(?: \(needs [0-9, ]+\))?")


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("1. Tea Expert: Describe tea (black or green) in 3 words", True),
        ("1. Judge: Compare tea and rum (needs 2, 3)", True),
        ("1. tea: Describe tea", False),
        ("1. Judge: Compare (needs 2", False),
        ("1. Judge: Go to 5. of it", False),
    ],
)
def test_the_grammar_is_read_as_it_is_meant(line: str, fits: bool) -> None:
    assert (LINE.fullmatch(line) is not None) is fits


@given(st.integers(0, 2**32), st.data())
def test_every_pair_is_a_plan(seed: int, data: st.DataObject) -> None:
    found = data.draw(st.sampled_from(patterns()))
    rng = seeded_random(seed)
    example = expand(found, rng)
    objective = add_noise(example.objective, rng)
    plan = read_lines(example.plan, objective, PlanRules(max_steps=GRAMMAR_STEPS))
    assert write_lines(plan) == example.plan
    assert [line for line in example.plan.splitlines() if not LINE.fullmatch(line)] == []
    assert not re.search("[\ue000-\uf8ff]", objective + example.plan)


@pytest.mark.parametrize("draws", [2, pytest.param(6, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name", sorted({found.file for found in patterns()}))
def test_no_block_of_a_file_has_an_error(name: str, draws: int) -> None:
    findings = [check_pattern(found, draws=draws) for found in patterns() if found.file == name]
    assert [
        (finding.pattern.location, finding.errors) for finding in findings if finding.errors
    ] == []


def test_pairs_of_all_kinds_come_out() -> None:
    train, development = split(patterns())
    known, drawn = {found.kind for found in train}, {pair.kind for pair in generate(1, len(train))}
    assert drawn <= known
    assert len(drawn) > 0.8 * len(known)
    assert len(generate(1, 200, part="development")) == 200
    assert len(development) > len(patterns()) / 20


def test_a_part_of_the_kinds_is_enough() -> None:
    four = kinds()[:4]
    assert {pair.kind for pair in generate(1, 60, kinds=four)} == set(four)
