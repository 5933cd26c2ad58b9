"""The bench of tools: its world, its reader and its clock are what the figures take them for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture(autouse=True)
def _benches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHES)


def part(name: str) -> Any:
    return import_module(f"with_tools.{name}")


def conversation(reader: Any, *results: str) -> list[ModelMessage]:
    """What a reader says to the results that it is given, one after another."""
    parameters = ModelRequestParameters()
    info = AgentInfo(
        function_tools=[],
        allow_text_output=True,
        output_tools=[],
        model_settings=None,
        model_request_parameters=parameters,
        instructions=None,
    )
    messages: list[ModelMessage] = [ModelRequest([UserPromptPart("Of these:\n- Karvel Works")])]
    for result in results:
        answer = reader(messages, info)
        call = answer.tool_calls[0]
        returned = ToolReturnPart(call.tool_name, result, call.tool_call_id)
        messages += [answer, ModelRequest([returned])]
    return [*messages, reader(messages, info)]


def test_a_world_is_the_same_for_the_same_seed_and_has_all_its_documents() -> None:
    world = part("world").make_world(1)
    assert world == part("world").make_world(1)
    assert world != part("world").make_world(2)
    assert (len(world.documents), len(world.cells), len(world.entities)) == (500, 120, 40)


def test_the_newest_value_of_each_cell_is_the_right_one() -> None:
    world = part("world").make_world(1)
    table = part("reader").table_in(world.documents.values())
    assert {cell: table[cell][1] for cell in world.cells} == world.cells


def test_a_reader_knows_only_what_it_has_read() -> None:
    heard = conversation(part("reader").Reader(), *["nothing"] * 12)
    assert heard[-1].text == "Nothing was found."  # type: ignore[union-attr]


def test_a_reader_takes_the_newest_value_and_goes_on_with_the_next_cell() -> None:
    heard = conversation(
        part("reader").Reader(),
        "At the end of 2021, Karvel Works had 7 employees.",
        "Karvel Works employed 8 people at the end of 2025.",
        "Karvel Works delivered 9 tonnes in 2025.",
        "Karvel Works was founded in 1850.",
    )
    assert heard[-1].text == (  # type: ignore[union-attr]
        "Karvel Works | staff | 8 | 2025\n"
        "Karvel Works | output | 9 | 2025\n"
        "Karvel Works | founded | 1850 | 2025"
    )


def test_a_reader_with_a_small_context_forgets_what_it_read_first() -> None:
    results = (
        "Karvel Works employed 8 people at the end of 2025.",
        "Karvel Works delivered 9 tonnes in 2025. " + "word " * 60,
        "Karvel Works was founded in 1850.",
    )
    heard = conversation(part("reader").Reader(context=150), *results)
    assert "founded | 1850" in heard[-1].text  # type: ignore[union-attr]
    assert "staff" not in heard[-1].text  # type: ignore[union-attr]
    usage = heard[-1].usage  # type: ignore[union-attr]
    assert usage.input_tokens < 200


def test_pages_wait_for_one_another_where_only_so_many_are_looked_up_at_once() -> None:
    clock = part("clock")
    agents = [[clock.Turn(1.0, 2.0), clock.Turn(1.0)]] * 4
    assert clock.virtual_seconds(agents, 4) == 4.0
    assert clock.virtual_seconds(agents, 2) == 6.0
    assert clock.virtual_seconds(agents, 1) == 10.0


@pytest.mark.parametrize("agents", [1, 4, 10, 40])
def test_every_entity_is_some_readers_and_no_two_readers(agents: int) -> None:
    world = part("world").make_world(1)
    plan = part("measure").plan_of(world.entities, agents)
    readers = [step for step in plan.steps if step.agent == "Reader"]
    assert len(readers) == agents
    listed = [line[2:] for step in readers for line in step.prompt.splitlines()[1:]]
    assert listed == list(world.entities)


def test_right_cells_are_counted_against_the_world() -> None:
    world = part("world").make_world(1)
    (cell, value), *_ = world.cells.items()
    row = " | ".join(cell)
    assert part("measure").right_cells(f"{row} | {value} | 2025", world) == 1
    assert part("measure").right_cells(f"{row} | {int(value) + 1} | 2025", world) == 0
