"""An answer that is cut off is written on, kept as what it is, or failed: never taken as whole."""

from __future__ import annotations

import pytest
from flow_runs import plan_of, steps_of
from prefect_swarm.errors import Category
from prefect_swarm.store.folder import RunFolder
from provider_runs import ONCE, InTurn, end_at, prose, run_at, serving
from provider_server import Asked, Reply

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_ONE = plan_of({"id": "S1"})
_TWO = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
_PYTHON = plan_of({"id": "S1", "output": {"kind": "python"}})
_MARK = "[The text was cut off here, after 150 tokens.]"


def cut(text: str) -> Reply:
    return Reply(text, finish_reason="length")


def test_the_rest_is_asked_for_behind_what_there_is() -> None:
    replies = InTurn([cut("The harbour is old and lies "), Reply("at the mouth of a river.")])
    with serving(replies) as server:
        run_at(server, _ONE)
    begun, go_on = server.asked[1].body["messages"][-2:]
    assert (begun["role"], begun["content"]) == ("assistant", "The harbour is old and lies ")
    assert (go_on["role"], "Go on exactly where it stopped" in go_on["content"]) == ("user", True)


def test_an_answer_is_its_parts_joined() -> None:
    text = prose("the harbour")
    middle = text.index(" ", 900) + 1
    with serving(InTurn([cut(text[:middle]), Reply(text[middle:])])) as server:
        result = run_at(server, _ONE)
    assert RunFolder.find(result.run_id).read("outputs/S1.txt") == text


def test_an_answer_may_be_cut_off_twice() -> None:
    replies = InTurn([cut("The harbour is old, "), cut("it lies far out, "), Reply("it is deep.")])
    with serving(replies) as server:
        result = run_at(server, _ONE)
    assert result.answer == "The harbour is old, it lies far out, it is deep."
    assert server.asked[2].texts[-2] == "The harbour is old, it lies far out, "


def test_a_word_that_was_cut_off_is_written_anew() -> None:
    replies = InTurn([cut("The harbour of the old to"), Reply("town is deep.")])
    with serving(replies) as server:
        result = run_at(server, _ONE)
    assert result.answer == "The harbour of the old town is deep."


def test_a_step_that_was_written_on_has_succeeded_whole() -> None:
    with serving(InTurn([cut("It is "), Reply("deep.")])) as server:
        result = run_at(server, _ONE)
    (step,) = result.steps
    assert (step.status, step.truncated) == ("succeeded", False)
    assert [attempt.category for attempt in step.attempts] == [Category.TRUNCATED, None]


def test_nothing_more_after_a_cut_is_not_the_answer() -> None:
    replies = InTurn([cut("The harbour is "), Reply(""), Reply("The harbour is deep.")])
    with serving(replies) as server:
        result = run_at(server, _ONE)
    assert result.answer == "The harbour is deep."


@pytest.mark.parametrize("finish_reason", ["stop", "length"])
def test_a_cut_text_alone_is_never_the_answer(finish_reason: str) -> None:
    def reply(asked: Asked) -> Reply:
        is_more = "Go on exactly" in asked.prompt
        return Reply("", finish_reason=finish_reason) if is_more else cut("The harbour is ")

    with serving(reply) as server:
        result = end_at(server, _ONE, policy=ONCE)
    (step,) = result.steps
    assert step.status == "failed" or step.truncated


def always_cut(asked: Asked) -> Reply:
    if asked.prompt.endswith("do S2"):
        return Reply("A summary of it.")
    return cut(f"Part {len(asked.texts)} is here, ")


def test_a_text_that_is_always_cut_off_is_kept_and_marked() -> None:
    with serving(always_cut) as server:
        result = run_at(server, _TWO)
    step = steps_of(result)["S1"]
    assert (step.status, step.truncated) == ("succeeded", True)
    assert [attempt.category for attempt in step.attempts] == ["TRUNCATED"] * 3
    assert step.attempts[-1].decision.action == "KEEP"
    kept = RunFolder.find(result.run_id).read("outputs/S1.txt") or ""
    assert kept.endswith(f"is here,\n\n{_MARK}")


def test_steps_behind_a_cut_text_see_that_it_is_one() -> None:
    with serving(always_cut) as server:
        run_at(server, _TWO)
    assert _MARK in server.asked[-1].prompt


def test_code_that_is_always_cut_off_fails() -> None:
    with serving(lambda _: cut("```python\ndef harbour() -> int:\n")) as server:
        result = end_at(server, _PYTHON, policy=ONCE)
    (step,) = result.steps
    assert (step.status, step.category) == ("failed", Category.TRUNCATED)
    assert step.output_ref is None


def test_code_that_was_cut_off_is_written_on_in_its_block() -> None:
    first = (
        '```python\ndef depth(harbour: str) -> int:\n    """Tell how deep a harbour is."""\n    ret'
    )
    rest = "```python\n    return len(harbour)\n```"
    with serving(InTurn([cut(first), Reply(rest)])) as server:
        result = run_at(server, _PYTHON)
    assert result.answer.count("return len(harbour)") == 1
    assert "```" not in result.answer
    assert len(server.asked) == 2


def test_an_answer_from_several_steps_is_written_on() -> None:
    def reply(asked: Asked) -> Reply:
        if "Go on exactly" in asked.prompt:
            return Reply("and cranes.")
        is_answer = "Write the final answer" in asked.prompt
        return cut("It has walls ") if is_answer else Reply(asked.prompt)

    with serving(reply) as server:
        result = run_at(server, plan_of({"id": "S1"}, {"id": "S2"}))
    assert (result.status, result.answer) == ("completed", "It has walls and cranes.")


def test_an_answer_that_is_always_cut_off_is_marked_and_partial() -> None:
    def reply(asked: Asked) -> Reply:
        is_step = len(asked.texts) == 2 and "Write the final answer" not in asked.prompt
        return Reply(asked.prompt) if is_step else cut(f"Part {len(asked.texts)}, ")

    with serving(reply) as server:
        result = run_at(server, plan_of({"id": "S1"}, {"id": "S2"}))
    assert result.answer.endswith(_MARK)
    assert result.status == "partial"
    assert "The answer is cut off" in result.problem
