"""A user's own pairs are read, or the line that is none is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.parl.retrain import read_pairs

LINES = "1. Poet: Write a poem\n2. Critic: Judge the poem (needs 1)"
PLAN = {
    "agents": [{"name": "Poet", "system_prompt": "You are Poet, one specialist of a team. Do your "
                "task fully and to the point."}],
    "steps": [{"id": "S1", "agent": "Poet", "prompt": "Write a poem"}],
}  # fmt: skip


def file_of(folder: Path, *lines: str) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_a_plan_may_be_lines_or_a_plan(tmp_path: Path) -> None:
    path = file_of(
        tmp_path,
        json.dumps({"objective": "Write and judge a poem", "plan": LINES}),
        "",
        json.dumps({"objective": "Write a poem", "plan": PLAN}),
    )
    assert read_pairs(path) == [
        ("Write and judge a poem", LINES),
        ("Write a poem", "1. Poet: Write a poem"),
    ]


def test_a_plan_whose_prompt_has_several_lines_is_learnt_in_one(tmp_path: Path) -> None:
    agent, step = PLAN["agents"][0], {**PLAN["steps"][0], "prompt": "Write a poem:\n- short\n- sad"}
    plan = {"agents": [agent], "steps": [step]}
    path = file_of(tmp_path, json.dumps({"objective": "Write a poem:\n- short", "plan": plan}))
    assert read_pairs(path) == [("Write a poem:\n- short", "1. Poet: Write a poem: - short - sad")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not valid JSON"),
        ("[1]", "has no objective"),
        ('{"objective": " ", "plan": "1. A: B c"}', "has no objective"),
        ('{"objective": "x"}', "has no plan"),
        ('{"objective": "x", "plan": "Sure!"}', "can't be read"),
        ('{"objective": "x", "plan": {"agents": [], "steps": []}}', "can't be read"),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, line: str, message: str) -> None:
    good = json.dumps({"objective": "Write and judge a poem", "plan": LINES})
    path = file_of(tmp_path, good, line)
    with pytest.raises(InputError, match=message) as caught:
        read_pairs(path)
    assert f"{path}:2" in str(caught.value)


def test_an_empty_or_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no pairs"):
        read_pairs(file_of(tmp_path, ""))
    with pytest.raises(InputError, match="can't be read"):
        read_pairs(tmp_path / "none.jsonl")
