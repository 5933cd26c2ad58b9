"""Requests share the model step by step; where it is deterministic each goes as if alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from prefect_swarm.errors import (
    ContextTooSmallError,
    InputError,
    ModelError,
    StepTimeoutError,
)
from prefect_swarm.models.llama.api import EngineConfig, GeneratedText, GenerateRequest
from prefect_swarm.models.llama.batcher import WATCHED_TOKENS, Batcher
from prefect_swarm.models.llama.native import BatchToken, Native
from prefect_swarm.models.llama.slots import Job

pytestmark = pytest.mark.model

NOW = 100.0
ENDLESS = 'root ::= "a" root'
"""A grammar under which an answer never ends by itself."""


@pytest.fixture(scope="module", params=[True, False], ids=["deterministic", "quick"])
def config(request: pytest.FixtureRequest) -> EngineConfig:
    return EngineConfig(n_ctx=256, n_slots=2, deterministic=request.param)


@pytest.fixture(scope="module")
def native(shallow_path: Path, config: EngineConfig) -> Iterator[Native]:
    native = Native(shallow_path, config)
    yield native
    native.close()


@pytest.fixture
def batcher(native: Native, config: EngineConfig) -> Iterator[Batcher]:
    batcher = Batcher(native, config, clock=lambda: NOW)
    yield batcher
    batcher.fail(ModelError("The test is over."))


class PendingRequest:
    """A job and what came back for it."""

    def __init__(self, request: GenerateRequest) -> None:
        self.answers: list[GeneratedText | BaseException] = []
        self.job = Job(request, self.answers.append, submitted=0.0)

    @property
    def answer(self) -> GeneratedText:
        (answer,) = self.answers
        assert isinstance(answer, GeneratedText), answer
        return answer


def prompt(text: str, **fields: object) -> GenerateRequest:
    return GenerateRequest(prompt=text, **{"max_tokens": 8, "temperature": 0, **fields})  # pyright: ignore[reportArgumentType]


def run(batcher: Batcher, *requests: GenerateRequest) -> list[PendingRequest]:
    asked = [PendingRequest(request) for request in requests]
    for pending in asked:
        batcher.add(pending.job)
    finish(batcher)
    return asked


def finish(batcher: Batcher) -> None:
    while batcher.has_work:
        batcher.step()


def test_an_answer_counts_its_tokens_and_says_why_it_ended(batcher: Batcher) -> None:
    (asked,) = run(batcher, prompt("Once upon a time", max_tokens=5))
    assert asked.answer.finish == "length"
    assert asked.answer.output_tokens == 5
    assert asked.answer.input_tokens == 4


def test_an_answer_is_handed_over_while_it_is_written(batcher: Batcher) -> None:
    pieces: list[str] = []
    (asked,) = run(batcher, prompt("Once upon a time", max_tokens=6, on_text=pieces.append))
    assert len(pieces) > 1
    assert "".join(pieces) == asked.answer.text


def test_more_requests_than_slots_all_get_the_answer_they_get_alone(batcher: Batcher) -> None:
    words = ["sea", "king", "train", "number", "garden"]
    requests = [prompt(f"A story about the {word}.", max_tokens=10 + len(word)) for word in words]
    together = [asked.answer.text for asked in run(batcher, *requests)]
    alone = [run(batcher, request)[0].answer.text for request in requests]
    assert together == alone
    assert len(set(together)) == len(words)


def test_a_prompt_computed_before_is_not_computed_again(
    batcher: Batcher, config: EngineConfig
) -> None:
    request = prompt("word " * 200, temperature=1.0, seed=3)
    (first,) = run(batcher, request)
    (again,) = run(batcher, request)
    assert first.answer.cached_tokens == 0
    assert again.answer.cached_tokens == again.answer.input_tokens - 2
    assert not config.deterministic or again.answer.text == first.answer.text


def test_the_request_with_the_longest_remaining_path_starts_first(batcher: Batcher) -> None:
    ended: list[float] = []
    for priority in (1.0, 3.0, 2.0, 4.0):
        request = prompt(f"Number {priority}", max_tokens=4, grammar=ENDLESS, priority=priority)
        batcher.add(Job(request, lambda _, priority=priority: ended.append(priority), 0.0))
    finish(batcher)
    assert {*ended[:2]} == {3.0, 4.0}


def test_an_abandoned_request_never_starts(batcher: Batcher) -> None:
    late, good = run(batcher, prompt("x", deadline=NOW - 1), prompt("x", deadline=NOW + 1))
    (error,) = late.answers
    assert isinstance(error, StepTimeoutError)
    assert "did not answer within 100 s" in str(error)
    assert good.answer.output_tokens


def test_an_answer_ends_at_its_deadline_and_frees_its_slot(
    native: Native, config: EngineConfig
) -> None:
    now = [0.0]
    batcher = Batcher(native, config, clock=lambda: now[0])
    asked = PendingRequest(prompt("x", grammar=ENDLESS, max_tokens=200, deadline=5.0))
    batcher.add(asked.job)
    for _ in range(3):
        batcher.step()
    assert not asked.answers
    now[0] = 5.1
    batcher.step()
    assert isinstance(asked.answers[0], StepTimeoutError)
    assert not batcher.has_work


def test_short_prompts_are_computed_together_where_that_may_round_otherwise(
    batcher: Batcher, config: EngineConfig, native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    decode = native.decode

    def counted(entries: Sequence[BatchToken]) -> None:
        sizes.append(len({entry.sequence for entry in entries if entry.position < 4}))
        decode(entries)

    monkeypatch.setattr(native, "decode", counted)
    run(batcher, prompt("The blue sea is"), prompt("A red moon was"))
    assert max(sizes) == (1 if config.deterministic else 2)


def test_requests_with_one_beginning_compute_it_once(batcher: Batcher) -> None:
    beginning = "The rules of the house are these. " * 20
    asked = run(batcher, *(prompt(f"{beginning}Question {n}:") for n in range(4)))
    computed = sum(pending.answer.input_tokens - pending.answer.cached_tokens for pending in asked)
    assert computed < 2 * asked[0].answer.input_tokens


def test_the_same_seed_gives_the_same_text_whatever_runs_beside_it(batcher: Batcher) -> None:
    request = prompt("Once upon a time", temperature=1.5, top_p=1.0, seed=11, max_tokens=20)
    (alone,) = run(batcher, request)
    first, _, second = run(batcher, request, prompt("Quite another text " * 30), request)
    assert alone.answer.text == first.answer.text == second.answer.text


def test_other_seeds_give_other_texts(batcher: Batcher) -> None:
    requests = [prompt("Once upon a time", temperature=1.5, top_p=1.0, seed=n) for n in range(4)]
    assert len({asked.answer.text for asked in run(batcher, *requests)}) > 1


def test_an_answer_obeys_its_grammar(batcher: Batcher) -> None:
    grammar = r'root ::= "v" [0-9] "." [0-9] [0-9] "\n"'
    requests = [prompt("The poem:", grammar=grammar, temperature=t, seed=5) for t in (0, 1.5)]
    for asked in run(batcher, *requests):
        assert asked.answer.finish == "stop"
        head, tail = asked.answer.text.split(".")
        assert head[0] == "v"
        assert head[1:].isdigit()
        assert tail[:2].isdigit()
        assert tail[2:] == "\n"


def test_an_answer_ends_before_its_stop_string(batcher: Batcher) -> None:
    grammar = 'root ::= "one, two, three, " root'
    (asked,) = run(batcher, prompt("Count:", grammar=grammar, stop=("three",), max_tokens=40))
    assert asked.answer.text == "one, two, "
    assert asked.answer.finish == "stop"


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        ('root ::= "open', "unexpected end of input"),
        ("root ::= missing", "Undefined rule identifier 'missing'"),
        ('other ::= "a"', "does not contain a 'root'"),
        ('root ::= root "a"', "left recursion"),
    ],
)
def test_a_wrong_grammar_is_its_callers_error_alone_and_prints_nothing(
    batcher: Batcher, capfd: pytest.CaptureFixture[str], grammar: str, reason: str
) -> None:
    bad, good = run(batcher, prompt("x", grammar=grammar), prompt("x"))
    (error,) = bad.answers
    assert isinstance(error, InputError)
    assert reason in str(error)
    assert good.answer.output_tokens
    assert capfd.readouterr() == ("", "")


def test_a_prompt_too_long_for_the_context_is_refused_with_the_figures(batcher: Batcher) -> None:
    (asked,) = run(batcher, prompt("word " * 240, max_tokens=100))
    (error,) = asked.answers
    assert isinstance(error, ContextTooSmallError)
    for figure in ("241 tokens", "100 more", "the context has 256", "n_ctx to 341"):
        assert figure in str(error)


def test_a_prompt_that_just_fits_is_answered(batcher: Batcher) -> None:
    (asked,) = run(batcher, prompt("word " * 240, max_tokens=15, grammar=ENDLESS))
    assert asked.answer.input_tokens + asked.answer.output_tokens == 256


def test_an_answer_that_may_be_shorter_takes_what_the_context_leaves(batcher: Batcher) -> None:
    wanted = prompt("word " * 240, max_tokens=100, grammar=ENDLESS, may_shorten=True)
    (asked,) = run(batcher, wanted)
    assert asked.answer.input_tokens + asked.answer.output_tokens == 256
    assert asked.answer.finish == "length"


def test_an_answer_that_may_be_shorter_is_no_shorter_than_it_has_to_be(batcher: Batcher) -> None:
    (asked,) = run(batcher, prompt("a", max_tokens=30, grammar=ENDLESS, may_shorten=True))
    assert asked.answer.output_tokens == 30


def test_a_prompt_that_leaves_no_token_for_an_answer_is_refused(batcher: Batcher) -> None:
    (asked,) = run(batcher, prompt("word " * 255, max_tokens=100, may_shorten=True))
    (error,) = asked.answers
    assert isinstance(error, ContextTooSmallError)
    assert "256 tokens and the answer may take 1 more" in str(error)


def test_a_cancelled_request_stops_and_frees_its_slot(batcher: Batcher) -> None:
    endless = [PendingRequest(prompt(f"{n}", grammar=ENDLESS, max_tokens=200)) for n in range(2)]
    for pending in endless:
        batcher.add(pending.job)
    for _ in range(5):
        batcher.step()
    for pending in endless:
        pending.job.cancelled = True
    (asked,) = run(batcher, prompt("Hello"))
    assert asked.answer.output_tokens
    assert [pending.answers for pending in endless] == [[], []]


def test_a_request_cancelled_in_the_queue_never_starts(batcher: Batcher) -> None:
    asked = [PendingRequest(prompt(f"Number {n}")) for n in range(4)]
    for pending in asked:
        batcher.add(pending.job)
    batcher.step()
    asked[3].job.cancelled = True
    finish(batcher)
    assert [len(pending.answers) for pending in asked] == [1, 1, 1, 0]


def test_a_failure_is_told_to_all_and_the_next_request_is_answered(batcher: Batcher) -> None:
    asked = [PendingRequest(prompt(f"Number {n}")) for n in range(3)]
    for pending in asked:
        batcher.add(pending.job)
    batcher.step()
    error = ModelError("Something broke.")
    batcher.fail(error)
    assert [pending.answers for pending in asked] == [[error]] * 3
    assert run(batcher, prompt("Hello"))[0].answer.output_tokens


HALF = "\ud800"
"""Half of a surrogate pair: a string of Python may hold it, UTF-8 may not."""


@pytest.mark.parametrize(
    "fields", [{"prompt": f"a{HALF}"}, {"grammar": f'root ::= "{HALF}"'}, {"stop": (HALF,)}]
)
def test_a_text_that_is_no_unicode_is_its_callers_error_alone(
    batcher: Batcher, fields: dict[str, object]
) -> None:
    request = replace(prompt("x"), **fields)  # pyright: ignore[reportArgumentType]
    bad, good = run(batcher, request, prompt("x"))
    (error,) = bad.answers
    assert isinstance(error, InputError)
    assert r"'\ud800' at character" in str(error)
    assert good.answer.output_tokens


def test_an_empty_prompt_is_refused(batcher: Batcher) -> None:
    (asked,) = run(batcher, prompt(""))
    assert isinstance(asked.answers[0], InputError)


def fail(*_: object) -> str:
    raise ValueError("of the caller")


@pytest.mark.parametrize("name", ["on_start", "on_text", "watch"])
def test_what_a_callers_function_raises_ends_its_own_request_alone(
    batcher: Batcher, name: str
) -> None:
    bad, good = run(
        batcher,
        prompt("x", max_tokens=30, grammar=ENDLESS, **{name: fail}),
        prompt("y", max_tokens=30, grammar=ENDLESS),
    )
    (error,) = bad.answers
    assert isinstance(error, ValueError)
    assert good.answer.output_tokens == 30


def test_a_caller_whose_function_raises_at_the_end_is_answered(batcher: Batcher) -> None:
    held = prompt("x", max_tokens=2, grammar=ENDLESS, stop=("a" * 40,), on_text=fail)
    (asked,) = run(batcher, held)
    assert [str(error) for error in asked.answers] == ["of the caller"]


def test_a_request_is_answered_that_fails_while_its_place_is_found(
    batcher: Batcher, native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = PendingRequest(prompt("x"))
    batcher.add(asked.job)
    with monkeypatch.context() as patch:
        patch.setattr(native, "forget", fail)
        with pytest.raises(ValueError, match="of the caller"):
            batcher.step()
    error = ModelError("Something broke.")
    batcher.fail(error)
    assert asked.answers == [error]


def test_a_slot_keeps_its_prompt_and_nothing_that_was_written(
    batcher: Batcher, native: Native
) -> None:
    (asked,) = run(batcher, prompt("The blue sea is", max_tokens=9))
    assert {*map(native.held, range(2))} == {0, asked.answer.input_tokens}


def test_an_answer_that_is_watched_ends_when_the_watch_says_so(batcher: Batcher) -> None:
    seen: list[str] = []

    def watch(text: str) -> str:
        seen.append(text)
        return "enough of it" if len(seen) == 2 else ""

    (asked,) = run(batcher, prompt("a", max_tokens=90, grammar=ENDLESS, watch=watch))
    assert (asked.answer.finish, asked.answer.why) == ("aborted", "enough of it")
    assert asked.answer.output_tokens == 2 * WATCHED_TOKENS
    assert asked.answer.text == seen[-1]


def test_an_answer_that_is_never_hopeless_is_what_it_is_unwatched(batcher: Batcher) -> None:
    request = prompt("Once upon a time", max_tokens=40)
    (plain,) = run(batcher, request)

    def watch(text: str) -> str:
        return ""

    (watched,) = run(batcher, replace(request, watch=watch))
    assert watched.answer.text == plain.answer.text
