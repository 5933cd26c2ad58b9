"""The hand-written objectives can be read, and a line that is wrong is named."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import InputError

PLANNING = Path(__file__).parents[2] / "benches" / "planning"
CHAIN: list[dict[str, Any]] = [
    {"key": "a", "needs": [], "must": ["poem"]},
    {"key": "b", "needs": ["a"], "must": ["greek"]},
    {"key": "c", "needs": ["b"], "must": ["print"]},
]


@pytest.fixture
def heldout(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(PLANNING)
    return import_module("heldout")


def line(**other: Any) -> str:
    given = {"id": "x", "kind": "chain", "objective": "Write a poem", "steps": CHAIN}
    return json.dumps(given | other)


def changed(number: int, **other: Any) -> list[dict[str, Any]]:
    """The chain with one step changed."""
    return [step | other if n == number else step for n, step in enumerate(CHAIN)]


@pytest.fixture(params=["heldout", "fresh", "third"])
def ours(heldout: Any, request: pytest.FixtureRequest) -> list[Any]:
    return heldout.load_heldout(heldout.SETS[request.param])


def needs_of(heldout: Any, steps: tuple[Any, ...]) -> list[frozenset[int]]:
    keys = [step.key for step in steps]
    return [frozenset(map(keys.index, step.needs)) for step in steps]


@pytest.mark.parametrize(("name", "count"), [("heldout", 120), ("fresh", 100), ("third", 100)])
def test_a_set_has_its_objectives(heldout: Any, name: str, count: int) -> None:
    assert len(heldout.load_heldout(heldout.SETS[name])) == count


def test_each_set_has_every_kind(heldout: Any) -> None:
    kinds = {
        tuple(dict.fromkeys(expected.kind for expected in heldout.load_heldout(path)))
        for path in heldout.SETS.values()
    }
    assert len(kinds) == 1


def test_no_objective_is_in_two_sets(heldout: Any) -> None:
    objectives = [
        " ".join(expected.objective.casefold().split())
        for path in heldout.SETS.values()
        for expected in heldout.load_heldout(path)
    ]
    assert len(objectives) == len(set(objectives))


def test_each_kind_stands_together(ours: list[Any]) -> None:
    kinds = [expected.kind for expected in ours]
    assert kinds == sorted(kinds, key=kinds.index)


def test_over_a_third_is_one_step_or_a_chain(heldout: Any, ours: list[Any]) -> None:
    serial = sum(heldout.is_chain(needs_of(heldout, expected.steps)) for expected in ours)
    assert 0.35 <= serial / len(ours) <= 0.40


def test_none_is_an_objective_of_the_looser_rule(ours: list[Any]) -> None:
    lines = (PLANNING / "objectives.jsonl").read_text("utf-8").splitlines()
    others = {json.loads(line)["objective"].casefold() for line in lines}
    assert not others & {expected.objective.casefold() for expected in ours}


@pytest.mark.parametrize(
    ("needs", "chain"),
    [
        ([[]], True),
        ([[], [0], [1]], True),
        ([[], []], False),
        ([[], [0], [0]], False),
        ([[], [], [0, 1]], False),
    ],
)
def test_a_chain_is_a_line_of_steps(heldout: Any, needs: list[list[int]], chain: bool) -> None:
    assert heldout.is_chain([frozenset(need) for need in needs]) is chain


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("{", "Line 2 of .* is not an objective: .*JSON"),
        (line(id="y", colour="red"), "Line 2 .*colour"),
        (line(id="y", steps=[]), "Line 2 .*0 steps are expected, not 1 to 14"),
        (
            line(id="y", steps=changed(1, needs=["z"])),
            r"'b' needs \['z'\], which is not an earlier",
        ),
        (
            line(id="y", steps=changed(1, needs=["c"])),
            r"'b' needs \['c'\], which is not an earlier",
        ),
        (line(id="y", steps=changed(2, needs=["a", "b"])), r"'c' needs \['a'\] through another"),
        (line(id="y", steps=changed(2, key="a")), "'a' is there twice"),
        (line(id="y", steps=changed(0, must=[])), "must is empty"),
        (line(id="y", steps=changed(0, must=["(a"])), "'\\(a' is not a regular expression"),
        (line(id="y", objective="Sing", alternatives=[[CHAIN[1]]]), "'b' needs"),
        (line(objective="Sing"), "Line 2 .* has the id or the objective of 'x'"),
        (line(id="y"), "Line 2 .* has the id or the objective of 'x'"),
    ],
)
def test_a_wrong_line_is_named(heldout: Any, tmp_path: Path, wrong: str, message: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(f"{line()}\n{wrong}\n")
    with pytest.raises(InputError, match=message):
        heldout.load_heldout(path)


def test_a_file_that_is_not_there_is_named(heldout: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl can't be read"):
        heldout.load_heldout(tmp_path / "none.jsonl")
