"""Calls of an answer that need a person's approval."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import (
    AnsweredError,
    ApprovalNeededError,
    RunDamagedError,
    UncertainCallError,
)
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, Question
from prefect_swarm.toolsets.calls import JournaledCalls, calls_of
from prefect_swarm.toolsets.catalogue import marked
from prefect_swarm.toolsets.journal import CallJournal, Reserved, last_call_keys
from prefect_swarm.toolsets.names import ToolLimits
from prefect_swarm.toolsets.policy import AttemptRules
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.tools import ToolDefinition
from quoted_texts import without_marks

pytestmark = pytest.mark.usefixtures("swarm_home")

ANN, BOB = {"to": "Ann"}, {"to": "Bob"}
SEND = ToolDefinition(name="send", description="Sends it.", metadata=marked(acting=True))
WIPE = ToolDefinition(name="wipe", metadata=marked(acting=True))
TOOLS = {"send": ("mail", "post", SEND), "wipe": ("mail", "post", WIPE)}


def calling(*answers: Sequence[tuple[str, Any]]) -> list[ModelMessage]:
    """A conversation with these answers; all calls have one id, and all but the last results."""
    messages: list[ModelMessage] = [ModelRequest([])]
    for number, calls in enumerate(answers):
        if number:
            results = [ToolReturnPart(name, "sent", "call_0") for name, _ in answers[number - 1]]
            messages.append(ModelRequest(results))
        parts = [ToolCallPart(name, arguments, "call_0") for name, arguments in calls]
        messages.append(ModelResponse(parts))
    return messages


MESSAGES = calling([("send", {"to": "Ada"})])


@pytest.fixture
def run() -> RunFolder:
    return RunFolder.of(str(uuid4()))


@dataclass
class Made:
    """What was really called, by the processes of a test."""

    calls: list[str] = field(default_factory=list[str])


class Process:
    """A process that works on an attempt; it is new, so it knows the run's folder alone."""

    def __init__(
        self,
        run: RunFolder,
        made: Made | None = None,
        *,
        asks: bool = True,
        attempt: int = 1,
        most: int = 50,
        tools: Mapping[str, tuple[str, str, ToolDefinition]] = TOOLS,
        step: str = "S1",
    ) -> None:
        self.made, self.tools = made or Made(), tools
        self.calls = JournaledCalls(
            run=run,
            step=step,
            attempt=attempt,
            tag=f"S1.{attempt}-0",
            journal=CallJournal(run, f"S1.{attempt}", "0"),
            limits=ToolLimits(),
            rules=AttemptRules(most, asks=asks),
        )

    def call(self, messages: Sequence[ModelMessage] = MESSAGES, position: int = 0) -> str:
        """What the model reads of a call of the last answer, without the marks around it."""

        async def send() -> str:
            self.made.calls.append(f"{calls_of(messages)[position].args}")
            return "sent"

        self.calls.note(messages)
        text = asyncio.run(self.calls.call(messages, position, self.tools, send))
        assert isinstance(text, str)
        return without_marks(text)

    def asked(self, messages: Sequence[ModelMessage] = MESSAGES) -> tuple[str, ...]:
        with pytest.raises(ApprovalNeededError) as caught:
            self.call(messages)
        return caught.value.questions


def called(run: RunFolder) -> str:
    return Process(run).call()


def asked(run: RunFolder) -> tuple[str, ...]:
    return Process(run).asked()


def kind_of(run: RunFolder, name: str) -> str:
    question = Approvals(run).question(name)
    assert question is not None
    return question.asked


def approve(run: RunFolder, *questions: str) -> None:
    for question in questions:
        Approvals(run).answer(Answer(question=question, verdict="approved"))


def test_a_call_that_acts_waits_until_a_person_has_agreed(run: RunFolder) -> None:
    assert asked(run) == asked(run) == ("S1.1-0.1",)
    Approvals(run).answer(Answer(question="S1.1-0.1", verdict="approved"))
    assert called(run) == "sent"


def test_a_call_that_a_person_refuses_is_not_made_and_the_model_reads_why(run: RunFolder) -> None:
    asked(run)
    Approvals(run).answer(Answer(question="S1.1-0.1", verdict="rejected", why="Not to Ada."))
    with pytest.raises(ToolFailed, match=r"decided against this call\. Not to Ada\."):
        called(run)


def test_a_question_withdrawn_by_an_edit_is_asked_again(
    run: RunFolder,
) -> None:
    asked(run)
    approvals = Approvals(run)
    (question,) = approvals.pending()
    approvals.withdraw(question)
    assert asked(run) == ("S1.1-0.1#2",)
    approvals.answer(Answer(question="S1.1-0.1#2", verdict="approved"))
    assert called(run) == "sent"


def test_a_repeated_call_needs_no_second_approval(run: RunFolder) -> None:
    made, alike = Made(), [("send", ANN)]
    for number in (1, 2):
        approve(run, *Process(run).asked(calling(*[alike] * number)))
        assert Process(run, made).call(calling(*[alike] * number)) == "sent"
    with pytest.raises(ToolFailed, match="made before with the same arguments"):
        Process(run, made).call(calling(*[alike] * 3))
    assert Approvals(run).pending() == ()
    assert len(made.calls) == 2


# --- what an approval counts for ----------------------------------------------------------------


def test_an_approval_lets_no_other_call_of_the_same_id_through(run: RunFolder) -> None:
    made, first = Made(), calling([("send", ANN)])
    approve(run, *Process(run).asked(first))
    assert Process(run, made).call(first) == "sent"
    for other in (("send", BOB), ("wipe", {}), ("send", ANN)):
        (question,) = Process(run, made).asked(calling([("send", ANN)], [other]))
        assert question.partition("#")[0] == "S1.1-0.2"
    assert made.calls == [f"{ANN}"]


def test_two_calls_of_one_answer_are_two_questions_whatever_their_id(run: RunFolder) -> None:
    made, both = Made(), calling([("send", ANN), ("send", ANN)])
    questions = Process(run).asked(both)
    assert len(questions) == 2
    approve(run, questions[0])
    assert Process(run).asked(both) == questions[1:]
    approve(run, questions[1])
    process = Process(run, made)
    assert (process.call(both, 0), process.call(both, 1)) == ("sent", "sent")
    assert made.calls == [f"{ANN}"] * 2


@pytest.mark.parametrize(
    "changed",
    [
        {"send": ("mail", "post", replace(SEND, description="Sends it to everybody."))},
        {"send": ("mail", "post", replace(SEND, parameters_json_schema={"type": "object"}))},
        {"send": ("mail", "elsewhere", SEND)},
        {"send": ("other", "post", SEND)},
    ],
    ids=["its description", "its parameters", "its server", "its toolset"],
)
def test_a_tool_that_changed_since_it_was_shown_is_asked_about_again(
    run: RunFolder, changed: Any
) -> None:
    approve(run, *Process(run).asked())
    made = Made()
    (again,) = Process(run, made, tools=changed).asked()
    assert again == "S1.1-0.1#2"
    assert made.calls == []
    approve(run, again)
    assert Process(run, made, tools=changed).call() == "sent"


def test_a_withdrawn_question_can_not_be_answered(run: RunFolder) -> None:
    Process(run).asked(calling([("send", ANN)]))
    (second,) = Process(run).asked(calling([("send", BOB)]))
    assert [question.id for question in Approvals(run).pending()] == [second]
    with pytest.raises(AnsweredError):
        approve(run, "S1.1-0.1")


def test_an_approval_of_an_older_version_lets_nothing_through(
    run: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    old = Question(id="S1.1-0.1", asked="call", step="S1", attempt=1, title="The call acts")
    run.write("questions/S1.1-0.1.json", old.model_dump(exclude={"subject"}))
    run.write("answers/S1.1-0.1.json", {"question": "S1.1-0.1", "verdict": "approved"})
    assert asked(run) == ("S1.1-0.1#2",)
    assert "S1.1-0.1 is approved, in the form of an older version" in caplog.text


def test_a_decision_that_can_not_be_read_is_none_and_waits_for_a_person(run: RunFolder) -> None:
    questions = Process(run).asked()
    approve(run, *questions)
    (path,) = (run.folder / "answers").iterdir()
    path.write_text("{", "utf-8")
    made = Made()
    assert Process(run, made).asked() == questions
    with pytest.raises(RunDamagedError, match="Remove the file"):
        approve(run, *questions)
    path.unlink()
    approve(run, *questions)
    assert Process(run, made).call() == "sent"


# --- journals that have lost something ----------------------------------------------------------


def once_approved(run: RunFolder) -> Made:
    """A run whose letter was approved and sent."""
    made = Made()
    approve(run, *Process(run).asked())
    assert Process(run, made).call() == "sent"
    return made


@pytest.mark.parametrize("folders", [("calls",), ("begun",), ("calls", "begun")], ids="+".join)
def test_with_its_journal_lost_an_old_approval_lets_nothing_through(
    run: RunFolder, folders: tuple[str, ...]
) -> None:
    made = once_approved(run)
    for folder in folders:
        shutil.rmtree(run.folder / folder)
    if folders == ("begun",):
        assert Process(run, made).call() == "sent"
    else:
        (again,) = Process(run, made).asked()
        assert kind_of(run, again) == "uncertain_call"
        approve(run, again)
        assert Process(run, made).call() == "sent"
        made.calls.pop()
    assert made.calls == ["{'to': 'Ada'}"]


@pytest.mark.parametrize("asks", [True, False])
@given(broken=st.sets(st.tuples(st.sampled_from(["calls", "begun"]), st.integers(0, 2))))
def test_whatever_lines_are_unreadable_no_letter_is_sent_twice_unasked(
    asks: bool, broken: set[tuple[str, int]]
) -> None:
    run, made = RunFolder.of(str(uuid4())), Made()
    if asks:
        made = once_approved(run)
    else:
        Process(run, made, asks=False).call()
    for folder, number in broken:
        damage(run, folder, number)
    with suppress(ApprovalNeededError, UncertainCallError):
        Process(run, made, asks=asks).call()
    is_known_still = {("calls", 1), ("begun", 0)} - broken
    assert len(made.calls) == 1 or (not asks and not is_known_still)


def damage(run: RunFolder, folder: str, number: int) -> None:
    """Make a line of the attempt's only journal unreadable."""
    (path,) = (run.folder / folder).iterdir()
    lines = path.read_text("utf-8").strip("\n").split("\n")
    if number < len(lines):
        lines[number] = f"\x00{lines[number][5:]}"
    path.write_text("\n".join(lines), "utf-8")


@pytest.mark.parametrize("folder", ["calls", "begun"])
def test_a_journal_that_can_not_be_read_is_no_empty_one(run: RunFolder, folder: str) -> None:
    made = once_approved(run)
    (path,) = (run.folder / folder).iterdir()
    path.unlink()
    path.symlink_to("/proc/self/mem")
    with pytest.raises(UncertainCallError, match="So nobody knows which calls of tools were made"):
        Process(run, made).call()
    assert len(made.calls) == 1


def test_a_call_that_was_begun_before_lines_were_lost_is_not_made_elsewhere(run: RunFolder) -> None:
    """The model that is asked again may word it otherwise, or make another call first."""
    made = Made()
    Process(run, made, asks=False).call()
    shutil.rmtree(run.folder / "calls")
    with pytest.raises(UncertainCallError, match="no journal says how it ended"):
        Process(run, made, asks=False).call(calling([("send", {"to": "Ada Lovelace"})]))
    assert Process(run, made, asks=False).call(calling([("wipe", {})])) == "sent"
    assert made.calls == ["{'to': 'Ada'}", "{}"]


def test_an_answer_behind_a_lost_line_is_no_part_of_the_conversation(run: RunFolder) -> None:
    made = Made()
    first, second = calling([("send", ANN)]), calling([("send", ANN)], [("send", BOB)])
    process = Process(run, made, asks=False)
    process.call(first)
    process.call(second)
    damage(run, "calls", 0)
    process = Process(run, made, asks=False)
    assert process.calls.messages == []
    # The same call at the same place has its result; of any other nobody knows whether it is new.
    assert process.call(first) == "sent"
    with pytest.raises(UncertainCallError):
        process.call(calling([("send", ANN)], [("send", {"to": "Bobby"})]))
    assert made.calls == [f"{ANN}", f"{BOB}"]


def test_messages_that_are_none_are_lost_ones(run: RunFolder) -> None:
    made = once_approved(run)
    (path,) = (run.folder / "calls").iterdir()
    path.write_text(path.read_text("utf-8").replace('"tool-call"', '"tool-cell"'), "utf-8")
    process = Process(run, made)
    assert process.calls.messages == []
    (other,) = Process(run, made).asked(calling([("send", BOB)]))
    assert kind_of(run, other) == "uncertain_call"
    assert process.call() == "sent"
    assert Process(run, made).calls.messages
    assert len(made.calls) == 1


def test_another_attempt_makes_no_call_that_the_journal_of_the_last_one_has_lost(
    run: RunFolder,
) -> None:
    made = Made()
    Process(run, made, asks=False).call()
    damage(run, "calls", 1)
    damage(run, "calls", 2)
    with pytest.raises(UncertainCallError):
        Process(run, made, asks=False, attempt=2).call()
    (question,) = Process(run, made, attempt=3).asked()
    assert kind_of(run, question) == "uncertain_call"
    assert len(made.calls) == 1


def test_what_a_whole_journal_says_is_for_its_own_attempt(run: RunFolder) -> None:
    made = Made()
    process = Process(run, made, asks=False)
    process.calls.note(MESSAGES)
    begun = Reserved(at=1.0, key=last_call_keys(MESSAGES)[0])
    CallJournal(run, "S1.1", "0").begin(begun, once=True)
    with pytest.raises(UncertainCallError):
        Process(run, made, asks=False).call()
    assert Process(run, made, asks=False, attempt=2).call() == "sent"


def test_a_call_is_made_only_once_it_is_on_the_disk_that_it_begins(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    approve(run, *Process(run).asked())
    happened: list[str] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        happened.append(path.parent.name if path.is_file() else "")
        fsync(descriptor)

    class Noting(list[str]):
        def append(self, _: str) -> None:
            happened.append("made")

    monkeypatch.setattr(os, "fsync", note)
    Process(run, Made(Noting())).call()
    before = happened[: happened.index("made")]
    assert [name for name in before if name] == ["calls", "begun", "answers"]
    assert "calls" in happened[happened.index("made") :]


def test_no_more_calls_are_made_than_may_be_whatever_their_ids(run: RunFolder) -> None:
    made, answers = Made(), [[("send", {"to": n})] for n in range(5)]
    process = Process(run, made, asks=False, most=3)
    refused = 0
    for number in range(5):
        try:
            process.call(calling(*answers[: number + 1]))
        except ToolFailed:
            refused += 1
    assert (len(made.calls), refused) == (3, 2)
    assert [call.ordinal for call in process.calls.calls.values()] == [1, 2, 3, 4, 5]


def test_a_call_that_was_made_is_not_made_again_by_the_same_process(run: RunFolder) -> None:
    process = Process(run, asks=False)
    process.call()
    with pytest.raises(UncertainCallError):
        process.call()
    assert process.made.calls == ["{'to': 'Ada'}"]
