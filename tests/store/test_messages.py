"""Messages to a run's orchestrator: numbered, each taken once, and refused after their end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.messages import MOST_CHARS, UserMessage, UserMessages, message_text


@pytest.fixture
def messages(tmp_path: Path) -> UserMessages:
    return UserMessages(RunFolder(tmp_path / "abc"), clock=lambda: 5.0)


def test_messages_are_numbered_as_they_come_and_read_after_a_number(messages: UserMessages) -> None:
    first = messages.add(" Also look at\r\nPortugal. ", by="command", name="Ann")
    second = messages.add("And Spain.", by="python")
    assert first == UserMessage(
        number=1, text="Also look at\nPortugal.", at=5.0, by="command", name="Ann"
    )
    assert messages.fresh(0) == (first, second)
    assert messages.fresh(1) == (second,)
    assert messages.fresh(2) == ()


def test_a_number_that_another_process_has_taken_is_passed_over(messages: UserMessages) -> None:
    messages.run.create_record("message", UserMessage(number=1, text="Theirs."), "1")
    assert messages.add("Mine.", by="python").number == 2
    assert [message.text for message in messages.all()] == ["Theirs.", "Mine."]


def test_after_their_end_messages_are_refused_with_the_reason(messages: UserMessages) -> None:
    messages.add("In time.", by="python")
    assert messages.close("the orchestrator has finished", 1)
    with pytest.raises(InputError, match=r"the orchestrator has finished.*prefect-swarm fork abc"):
        messages.add("Too late.", by="python")
    assert [message.text for message in messages.all()] == ["In time."]


def test_they_are_not_closed_before_a_message_that_nobody_has_read(messages: UserMessages) -> None:
    messages.add("In time.", by="python")
    assert not messages.close("it is over", 0)
    assert messages.close("it is over", 1)
    assert messages.close("it is over", 1)


def test_a_run_that_goes_on_takes_messages_again(messages: UserMessages) -> None:
    messages.add("One.", by="python")
    messages.close("it is over", 1)
    messages.reopen()
    messages.reopen()
    assert messages.add("Two.", by="python").number == 2


def test_a_message_that_is_damaged_is_warned_of_and_hides_no_other(
    messages: UserMessages, caplog: pytest.LogCaptureFixture
) -> None:
    messages.add("One.", by="python")
    messages.add("Two.", by="python")
    path = Path(messages.run.place("message", "1"))
    path.write_text("{", "utf-8")
    assert [message.text for message in messages.all()] == ["Two."]
    assert "Message 1 of run abc can't be read" in caplog.text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        (" \n\t ", "is empty"),
        ("x" * 1_000_000, "has 1,000,000 characters; at most 10,000"),
        ("Look\x1b[2J", r"Character 5 .* control character, U\+001B"),
        ("Look\x00", r"Character 5 .* U\+0000"),
        ("Look\udcff", r"Character 5 .* U\+DCFF"),
    ],
)
def test_a_text_that_cannot_be_shown_is_refused_with_the_place(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        message_text(text)


@given(st.text(max_size=200))
def test_a_text_that_is_taken_is_kept_as_it_is_taken(text: str) -> None:
    try:
        kept = message_text(text)
    except InputError:
        return
    assert 0 < len(kept) <= MOST_CHARS
    assert message_text(kept) == kept
    assert (
        UserMessage.model_validate_json(UserMessage(number=1, text=kept).model_dump_json()).text
        == kept
    )
