"""Other packages' toolsets are found by their entry points, and a wrong one is named."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.toolsets import catalogue as registered
from prefect_swarm.toolsets.catalogue import ToolsetOverride, registered_toolsets
from pydantic_ai.toolsets import FunctionToolset

plain: FunctionToolset[None] = FunctionToolset()
source = ToolsetOverride("own", plain, "What it is good for.")
misnamed = ToolsetOverride("no name", plain)
nothing = 7
halfway = SimpleNamespace(name="halfway", about="", server="halfway")


def made() -> FunctionToolset[None]:
    return plain


def source_made() -> ToolsetOverride:
    return source


def broken() -> FunctionToolset[None]:
    raise OSError("no disk")


@pytest.fixture
def points(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    names: tuple[str, ...] = request.param
    found = [
        EntryPoint(f"p{n}", f"{__name__}:{name}", registered.GROUP) for n, name in enumerate(names)
    ]

    def load(self: EntryPoint) -> object:
        return globals()[self.attr]

    def entry_points(group: str) -> list[EntryPoint]:
        assert group == "prefect_swarm.toolsets"
        return found

    monkeypatch.setattr(EntryPoint, "load", load)
    monkeypatch.setattr(registered, "entry_points", entry_points)
    registered_toolsets.cache_clear()
    yield
    registered_toolsets.cache_clear()


@pytest.mark.parametrize("points", [("plain", "made", "source")], indirect=True)
def test_a_toolset_a_source_and_what_makes_one_are_taken(points: None) -> None:
    found: dict[str, Any] = dict(registered_toolsets())
    assert [*found] == ["p0", "p1", "own"]
    assert found["p0"].made is found["p1"].made is plain
    assert found["own"].about == "What it is good for."


@pytest.mark.parametrize(
    ("points", "problem"),
    [
        (("nothing",), "The toolset p0 of .* can't be loaded"),
        (("broken",), "can't be loaded: OSError"),
        (("halfway",), "can't be loaded"),
        (("misnamed",), "can't be loaded: InputError"),
        (("absent",), "can't be loaded: KeyError"),
        (("source", "source_made"), "Two toolsets are named own"),
    ],
    indirect=["points"],
)
def test_a_wrong_entry_point_is_named(points: None, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        registered_toolsets()
