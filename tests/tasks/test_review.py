"""Verdicts are read and counted; what reviewers and judges are asked is quoted and bounded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import Category
from prefect_swarm.gates import format_diagnostics
from prefect_swarm.models.llama.schema_grammar import schema_grammar
from prefect_swarm.plan.output import StepOutput
from prefect_swarm.plan.review import CompiledReview, Reviewer
from prefect_swarm.tasks.review import (
    BestChoice,
    ReviewVerdict,
    finding_of,
    judge_request,
    read_choice,
    read_verdict,
    review_request,
    tally,
)
from prefect_swarm.tasks.subagent.request import CallLimits, SubagentRequest, prompt_of, tokens_of
from quoted_texts import read_prompt

SKEPTIC = Reviewer("Skeptic", "You doubt.", "coder")
WRONG = ReviewVerdict(False, ("It is wrong.",))
YES, NO = ReviewVerdict(True), ReviewVerdict(False, ("The year is wrong.",))


def made(**fields: Any) -> SubagentRequest:
    about = {"key": "k", "run": "r", "step": "S2", "agent": "Reader", "attempt": 2}
    asked = {"tier": "worker", "model": "m", "instructions": "", "prompt": "When was it?"}
    return SubagentRequest.model_validate({**about, **asked, **fields})


def asked(
    artifact: str, number: int = 1, instructions: str = "", room: int | None = None, **fields: Any
) -> SubagentRequest:
    review = CompiledReview(SKEPTIC, 3, 2, instructions)
    limits = CallLimits(max_input_tokens=room)
    return review_request(review, made(**fields), artifact, number, model="n", limits=limits)


# --- verdicts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"reasons": [], "verdict": "accept"}', ReviewVerdict(True)),
        ('{"verdict": "Refuse.", "reasons": ["It is wrong.", " "]}', WRONG),
        ('{"verdict": "rejected", "reasons": "It is wrong."}', WRONG),
        ('Here:\n```json\n{"verdict": "refuse", "reasons": ["It is wrong."]}\n```', WRONG),
    ],
)
def test_a_verdict_is_read_leniently(text: str, verdict: ReviewVerdict) -> None:
    assert read_verdict(text) == verdict


@pytest.mark.parametrize(
    "text",
    [
        "",
        "accept",
        "[]",
        '{"verdict": "perhaps"}',
        '{"verdict": true}',
        '{"reasons": ["It is wrong."]}',
        '{"verdict": "accept"} but then {"verdict": "refuse"}',
        "[" * 300,
    ],
)
def test_what_has_no_verdict_or_two_has_none(text: str) -> None:
    assert read_verdict(text) is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert read_verdict(text) is None or isinstance(read_verdict(text), ReviewVerdict)
    assert read_choice(text, 3) is None or isinstance(read_choice(text, 3), BestChoice)


@pytest.mark.parametrize("text", ['{"best": "B"}', '{"best": "result b."}', '{"best": " `b` "}'])
def test_a_choice_is_read_leniently(text: str) -> None:
    assert read_choice(text, 2) == BestChoice(1)


@pytest.mark.parametrize("text", ['{"best": "C"}', '{"best": ""}', '{"best": "AB"}', '{"best": 1}'])
def test_a_choice_of_none_or_several_is_none(text: str) -> None:
    assert read_choice(text, 2) is None


# --- counting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "needed", "outcome"),
    [
        ([YES], 1, "accepted"),
        ([NO], 1, "refused"),
        ([None], 1, "undecided"),
        ([YES, YES, NO], 2, "accepted"),
        ([YES, YES, NO], 3, "refused"),
        ([YES, YES, None], 2, "accepted"),
        ([YES, None, None], 2, "undecided"),
        ([YES, NO, None], 2, "refused"),
    ],
)
def test_verdicts_are_counted(
    verdicts: Sequence[ReviewVerdict | None], needed: int, outcome: str
) -> None:
    assert tally(verdicts, needed).outcome == outcome


VERDICTS = st.lists(st.sampled_from([YES, NO, None]), min_size=1, max_size=9)


@given(VERDICTS, st.integers(1, 9), st.randoms())
def test_the_order_of_verdicts_does_not_count(
    verdicts: list[ReviewVerdict | None], needed: int, random: Any
) -> None:
    shuffled = random.sample(verdicts, len(verdicts))
    assert tally(shuffled, needed) == tally(verdicts, needed)


@given(VERDICTS, st.integers(1, 9), st.integers(0, 8))
def test_one_more_accept_never_takes_an_acceptance_back(
    verdicts: list[ReviewVerdict | None], needed: int, place: int
) -> None:
    better = [YES if n == place else verdict for n, verdict in enumerate(verdicts)]
    if tally(verdicts, needed).outcome == "accepted":
        assert tally(better, needed).outcome == "accepted"


@given(VERDICTS, st.integers(1, 9))
def test_a_finding_says_what_the_verdicts_come_to(
    verdicts: list[ReviewVerdict | None], needed: int
) -> None:
    problems = ["" if verdict else "It was busy." for verdict in verdicts]
    found = finding_of("Skeptic", verdicts, problems, needed)
    outcome = tally(verdicts, needed).outcome
    expected = {
        "accepted": ("passed", None),
        "refused": ("failed", Category.LOGIC),
        "undecided": ("error", Category.UNKNOWN),
    }
    assert (found.status, found.category) == expected[outcome]
    said = format_diagnostics(found.diagnostics)
    assert said.count("refuses it: The year is wrong.") == verdicts.count(NO)
    assert said.count("gave no verdict: It was busy.") == verdicts.count(None)


def test_reasons_are_bounded_and_labelled_by_their_reviewer() -> None:
    long = json.dumps({"verdict": "refuse", "reasons": ["x" * 9000] * 50})
    verdict = read_verdict(long)
    found = finding_of("Skeptic", [YES, verdict], ["", ""], 2)
    said = format_diagnostics(found.diagnostics)
    assert said.startswith("Skeptic 2 refuses it: x")
    assert len(said) < 2000
    refused = finding_of("Skeptic", [verdict] * 9, [""] * 9, 5)
    said = format_diagnostics(refused.diagnostics)
    assert len(said) < 3500
    assert all(f"Skeptic {number} refuses it: x" in said for number in range(1, 10))


# --- what is asked ----------------------------------------------------------------------------


def test_a_reviewer_is_asked_to_refute_what_is_quoted() -> None:
    upstream = (StepOutput(name="S1", agent="Finder", text="It was 1905."),)
    request = asked("It was 1900.", 2, "Look at the years.", upstream=upstream, sample=3)
    read = read_prompt(prompt_of(request))
    assert read.quoted == [
        ("Result of S1 (Finder):", "It was 1905."),
        ("What Reader was asked:", "When was it?"),
        ("The result, of Reader:", "It was 1900."),
    ]
    assert "Try to refute this result." in read.outside
    assert "Look above all at this: Look at the years." in read.outside
    assert (request.agent, request.tier, request.instructions) == ("Skeptic", "coder", "You doubt.")
    assert (request.key, request.name) == ("k.review.2", "S2-review-2.2.3")


def test_the_key_of_a_review_depends_on_what_is_reviewed() -> None:
    keys = {
        asked(artifact, number, instructions).cache_key()
        for artifact in ("one", "two")
        for number in (1, 2)
        for instructions in ("", "Look.")
    }
    assert len(keys) == 8
    assert asked("one").cache_key() == asked("one", room=10_000).cache_key()


@given(st.text(max_size=300))
def test_no_artifact_stands_outside_its_marks(artifact: str) -> None:
    plain, attacked = asked("plain"), asked(artifact)
    judged = judge_request(SKEPTIC, made(), [artifact, "plain"], model="n", limits=CallLimits())
    alone = judge_request(SKEPTIC, made(), ["plain", "plain"], model="n", limits=CallLimits())
    for with_artifact, without in ((attacked, plain), (judged, alone)):
        first, second = read_prompt(prompt_of(with_artifact)), read_prompt(prompt_of(without))
        assert first.outside == second.outside


@given(st.integers(100, 3000), st.integers(0, 9000), st.integers(0, 9000))
def test_what_is_read_fits_the_reviewers_room(room: int, own: int, upstream: int) -> None:
    texts = (StepOutput(name="S1", agent="Finder", text="word " * upstream),)
    request = asked("text " * own, room=room, upstream=texts)
    read = read_prompt(prompt_of(request))
    assert sum(tokens_of(text) for _, text in read.quoted if text != "When was it?") <= room
    if tokens_of("text " * own) <= room * 0.7:
        assert ("The result, of Reader:", "text " * own) in read.quoted or not own


@pytest.mark.parametrize(
    "request_",
    [
        asked("one"),
        judge_request(SKEPTIC, made(), ["one", "two"], model="n", limits=CallLimits()),
    ],
)
def test_a_model_file_answers_under_a_grammar(request_: SubagentRequest) -> None:
    assert request_.output == "json"
    assert "root ::=" in schema_grammar(request_.output_schema)


def test_a_judge_reads_lettered_results() -> None:
    request = judge_request(SKEPTIC, made(), ["one", "two"], model="n", limits=CallLimits())
    read = read_prompt(prompt_of(request))
    assert read.quoted[1:] == [("Result A:", "one"), ("Result B:", "two")]
    assert json.loads(request.output_schema)["properties"]["best"] == {"enum": ["A", "B"]}
    assert (request.key, request.name) == ("k.judge", "S2-judge.2")
