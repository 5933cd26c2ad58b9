"""A call whose server asks its user counts as not made, whatever process asks and answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from prefect_swarm.errors import ApprovalNeededError, UncertainCallError
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, Question
from prefect_swarm.store.requested import Content, RequestedField
from prefect_swarm.toolsets.calls import JournaledCalls
from prefect_swarm.toolsets.catalogue import marked
from prefect_swarm.toolsets.elicitation import Elicited, ElicitedError, current_replies
from prefect_swarm.toolsets.journal import CallJournal
from prefect_swarm.toolsets.names import ToolLimits
from prefect_swarm.toolsets.policy import AttemptRules
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart
from pydantic_ai.tools import ToolDefinition
from quoted_texts import without_marks

pytestmark = pytest.mark.usefixtures("swarm_home")

SEATS = RequestedField(name="seats", kind="integer", required=True)
HOW_MANY = Elicited("travel", "How many?", (SEATS,))
BOOK = ToolDefinition(name="book", metadata=marked(acting=True))
MESSAGES: list[ModelMessage] = [
    ModelRequest([]),
    ModelResponse([ToolCallPart("book", {"to": "Rome"}, "call_0")]),
]


class KilledError(BaseException):
    """The process ends here."""


@pytest.fixture
def run() -> RunFolder:
    return RunFolder.of(str(uuid4()))


@dataclass
class Server:
    """Asks, and books with what it is answered.

    Attributes:
        kill_at: `asked`: when it has asked, before that is written down; `answered`: when it has
            been answered, before it says that it has booked.
    """

    asks: Elicited = HOW_MANY
    kill_at: str = ""
    begun: int = 0
    booked: list[object] = field(default_factory=list[object])

    async def book(self) -> str:
        self.begun += 1
        replies = current_replies()
        assert replies is not None
        reply = replies.reply(self.asks)
        if self.kill_at == ("answered" if reply else "asked"):
            raise KilledError
        if reply is None:
            raise ElicitedError(self.asks)
        if reply.content is None:
            return f"not booked: {reply.action}"
        self.booked.append(reply.content["seats"])
        return f"booked {reply.content['seats']}"


def process(
    run: RunFolder, server: Server, *, asks: bool = False, can_ask: bool = True, tool: object = BOOK
) -> str:
    """What the model reads of the call in a process that knows the run's folder alone."""
    assert isinstance(tool, ToolDefinition)
    calls = JournaledCalls(
        run=run,
        step="S1",
        attempt=1,
        tag="S1.1-0",
        journal=CallJournal(run, "S1.1", "0"),
        limits=ToolLimits(),
        rules=AttemptRules(50, asks=asks, can_ask=can_ask),
    )
    calls.note(MESSAGES)
    tools = {"book": ("travel", "travel", tool)}
    text = asyncio.run(calls.call(MESSAGES, 0, tools, server.book))
    assert isinstance(text, str)
    return without_marks(text)


def waits(run: RunFolder, server: Server, **rules: bool) -> list[Question]:
    """The questions that a process leaves, which the attempt waits for."""
    with pytest.raises(ApprovalNeededError) as caught:
        process(run, server, **rules)
    pending = Approvals(run).pending()
    assert caught.value.questions == tuple(question.id for question in pending)
    return [*pending]


def approve(run: RunFolder, question: Question) -> None:
    content: Content | None = {"seats": 2} if question.fields else None
    Approvals(run).answer(Answer(question=question.id, verdict="approved", content=content))


def kinds(run: RunFolder) -> list[str]:
    return [question.asked for question in Approvals(run).questions()]


def test_it_is_made_again_once_a_person_has_answered(run: RunFolder) -> None:
    server = Server()
    [question] = waits(run, server)
    assert waits(run, server) == [question]
    approve(run, question)
    assert process(run, server) == "booked 2"
    assert process(run, server) == "booked 2"
    assert server.booked == [2]
    assert kinds(run) == ["elicitation"]


def test_an_approval_of_the_call_holds_for_the_call_that_is_made_again(run: RunFolder) -> None:
    server = Server()
    for _ in range(2):
        [question] = waits(run, server, asks=True)
        approve(run, question)
    assert process(run, server, asks=True) == "booked 2"
    assert sorted(kinds(run)) == ["call", "elicitation"]


def test_what_was_killed_after_the_answer_may_have_been_made(run: RunFolder) -> None:
    server = Server()
    for _ in range(2):
        [question] = waits(run, server, asks=True)
        approve(run, question)
    server.kill_at = "answered"
    with pytest.raises(KilledError):
        process(run, server, asks=True)
    server.kill_at = ""
    [question] = waits(run, server, asks=True)
    assert question.asked == "uncertain_call"
    approve(run, question)
    # The person who says that it is to be made again isn't asked for the seats once more.
    assert process(run, server, asks=True) == "booked 2"


def test_what_was_killed_before_it_was_written_that_it_asks_is_not_made_unasked(
    run: RunFolder,
) -> None:
    with pytest.raises(KilledError):
        process(run, Server(kill_at="asked"))
    with pytest.raises(UncertainCallError):
        process(run, Server())


def test_a_tool_that_may_be_called_twice_is_whenever_it_is_killed(run: RunFolder) -> None:
    look = ToolDefinition(name="book", metadata=marked(idempotent=True))
    with pytest.raises(KilledError):
        process(run, Server(kill_at="asked"), tool=look)
    with pytest.raises(ApprovalNeededError):
        process(run, Server(), tool=look)
    [question] = Approvals(run).pending()
    approve(run, question)
    with pytest.raises(KilledError):
        process(run, Server(kill_at="answered"), tool=look)
    assert process(run, Server(), tool=look) == "booked 2"
    assert kinds(run) == ["elicitation"]


@pytest.mark.parametrize(
    "asks",
    [
        Elicited("travel", "How many seats?", (SEATS,)),
        Elicited("voyage", "How many?", (SEATS,)),
        Elicited("travel", "How many?", (SEATS.model_copy(update={"required": False}),)),
        Elicited("travel", "How many?", (SEATS,), number=2),
    ],
)
def test_an_answer_is_for_what_was_asked_alone(run: RunFolder, asks: Elicited) -> None:
    [question] = waits(run, Server())
    approve(run, question)
    server = Server(asks)
    [other] = waits(run, server)
    assert (other.id, server.booked) == ("S1.1-0.1.asks#2", [])


def test_where_nobody_can_be_asked_it_is_declined_and_the_model_is_told(run: RunFolder) -> None:
    text = process(run, Server(), can_ask=False)
    assert text == (
        "not booked: decline\n\nThe server asked its user: 'How many?'. "
        "That was declined: nobody can be asked here."
    )
    assert Approvals(run).questions() == ()


def test_a_lost_line_of_the_journal_makes_a_call_that_was_taken_back_uncertain(
    run: RunFolder,
) -> None:
    [question] = waits(run, Server())
    approve(run, question)
    for folder in ("calls", "begun"):
        [path] = (run.folder / folder).glob("*.jsonl")
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if "taken_back" not in line))
        if folder == "calls":
            with pytest.raises(UncertainCallError):
                process(run, Server())


def test_a_call_that_fails_says_what_was_declined(run: RunFolder) -> None:
    class Strict(Server):
        async def book(self) -> str:
            raise ToolFailed(await super().book())

    with pytest.raises(ToolFailed, match="nobody can be asked here"):
        process(run, Strict(), can_ask=False)
