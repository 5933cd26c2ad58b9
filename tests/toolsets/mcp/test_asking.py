"""A server asks its user in the middle of calls: what it reads, whatever it does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from prefect_swarm.toolsets.elicitation import Elicited, ElicitedError, Reply
from prefect_swarm.toolsets.mcp.owner import ServerOwner, owned
from pydantic_ai.exceptions import ToolFailed
from raw_servers import raw_server

pytestmark = pytest.mark.anyio

LONG_S = 60.0
HIDDEN = "not-to-be-shown"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Person:
    """Answers with a name, if there is one."""

    name: str = ""
    asked: list[Elicited] = field(default_factory=list[Elicited])
    notes: list[str] = field(default_factory=list[str])

    def reply(self, elicited: Elicited) -> Reply | None:
        self.asked.append(elicited)
        return Reply("accept", {"name": self.name}) if self.name else None

    def note(self, text: str) -> None:
        self.notes.append(text)


async def ask(raw: ServerOwner, person: Person | None, **arguments: Any) -> dict[str, Any]:
    return await raw.call("ask", arguments, LONG_S, person)


async def noted(raw: ServerOwner) -> str:
    return str(await raw.call("noted", {}, LONG_S))


async def test_it_reads_what_was_answered() -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        person = Person("Ann")
        found = await ask(raw, person, message="Who are you?")
    assert (found["action"], found["content"]) == ("accept", {"name": "Ann"})
    [asked] = person.asked
    assert (asked.server, asked.message, asked.number) == ("raw", "Who are you?", 1)


async def test_a_call_that_nobody_has_answered_is_cancelled_before_its_question_is() -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        with pytest.raises(ElicitedError) as caught:
            await ask(raw, Person())
        assert caught.value.elicited.message == "Who?"
        assert await noted(raw) == "cancelled cancel"
        assert (await ask(raw, Person("Ann")))["action"] == "accept"


async def test_without_a_person_it_is_declined() -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        assert (await ask(raw, None))["action"] == "decline"


async def test_a_question_that_comes_again_has_another_number() -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        person = Person("Ann")
        await ask(raw, person, times=3)
        await ask(raw, person)
    assert [asked.number for asked in person.asked] == [1, 2, 3, 1]


async def test_who_asks_without_end_is_declined() -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        person = Person("Ann")
        assert (await ask(raw, person, times=22))["action"] == "decline"
    assert len(person.asked) == 20
    assert "it asked 20 times before" in person.notes[-1]


async def test_a_secret_of_the_server_is_masked_in_what_it_asks() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "description": HIDDEN}}}
    async with owned(raw_server(ASKING="1", TOKEN=HIDDEN), 4) as raw:
        person = Person("Ann")
        await ask(raw, person, message=f"With {HIDDEN}?", schema=schema)
    [asked] = person.asked
    assert asked.message == "With …masked…?"
    assert HIDDEN not in asked.fields[0].line


async def test_an_address_is_declined_even_if_nobody_said_that_it_can_be_opened() -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        person = Person("Ann")
        more = {"mode": "url", "url": "https://bank.example", "elicitationId": "e"}
        assert (await ask(raw, person, **more))["action"] == "decline"
    assert person.asked == []
    assert "only forms are shown" in person.notes[0]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "properties": {"a": 7}},
        {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(60)}},
        {"type": "string"},
    ],
)
async def test_what_is_no_form_is_not_asked_and_the_server_goes_on(schema: Any) -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        person = Person("Ann")
        found = await ask(raw, person, schema=schema)
        # Some of it the protocol's library refuses before anybody else sees it.
        assert found.get("action", "decline") == "decline"
        assert person.asked == []
        assert (await ask(raw, person))["action"] == "accept"


async def test_calls_that_ask_in_parallel_are_made_one_by_one() -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        people = [Person(name) for name in ("Ann", "Bob", "Eve")]
        found = await asyncio.gather(
            *(ask(raw, person, message=f"Is it {person.name}?") for person in people)
        )
        assert await noted(raw) == " ".join(["cancelled"] * 3 + ["cancel"] * 3 + ["accept"] * 3)
    assert [each["content"] for each in found] == [{"name": person.name} for person in people]
    for person in people:
        assert [asked.message for asked in person.asked] == [f"Is it {person.name}?"]


async def test_a_question_waits_until_the_calls_that_do_not_ask_are_over() -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        person = Person("Ann")
        held = asyncio.create_task(raw.call("hold", {"until": 2}, LONG_S))
        other = asyncio.create_task(raw.call("hold", {"until": 2}, LONG_S))
        asking = asyncio.create_task(ask(raw, person))
        assert await asyncio.gather(held, other) == ["released", "released"]
        assert (await asking)["action"] == "accept"
        assert await noted(raw) == "accept"


async def test_a_call_that_is_given_up_while_it_asks_leaves_nobody_waiting() -> None:
    async with owned(raw_server(ASKING="1"), 4) as raw:
        began = asyncio.Event()

        class Slow(Person):
            def reply(self, elicited: Elicited) -> Reply | None:
                began.set()
                return super().reply(elicited)

        asking = asyncio.create_task(ask(raw, Slow()))
        await began.wait()
        asking.cancel()
        await asyncio.wait([asking])
        assert (await ask(raw, Person("Ann")))["action"] == "accept"


async def test_a_person_who_breaks_costs_the_call_alone() -> None:
    class Broken(Person):
        def reply(self, elicited: Elicited) -> Reply | None:
            raise OSError("the disk is full")

    async with owned(raw_server(ASKING="1"), 4) as raw:
        with pytest.raises(ToolFailed, match="the disk is full"):
            await ask(raw, Broken())
        assert (await ask(raw, Person("Ann")))["action"] == "accept"
