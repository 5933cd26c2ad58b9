"""A limit that a step says as a plain measure is one again."""

from __future__ import annotations

import pytest
from prefect_swarm.tasks.planner.adapter.line_format import read_lines
from prefect_swarm.tasks.planner.adapter.repair.limits import restore_limits


def _prompts(objective: str, *prompts: str) -> tuple[list[str], list[str]]:
    lines = "\n".join(f"{n}. Writer: {prompt}" for n, prompt in enumerate(prompts, 1))
    steps, notes = restore_limits(read_lines(lines, objective).steps, objective)
    return [step.prompt for step in steps], notes


@pytest.mark.parametrize(
    ("limits", "step", "restored"),
    [
        ("max 8 words each", "of 8 words", "of max 8 words"),
        ("Max. 8 words each", "of 8 words", "of max. 8 words"),
        ("in at most ten lines", "in ten lines", "in at most ten lines"),
        ("8 words or less", "in 8 words", "in 8 words or less"),
        ("under two pages", "on two pages", "on under two pages"),
        ("no more than 30 euros", "for 30 euros", "for no more than 30 euros"),
    ],
)
def test_a_limit_is_said_as_the_objective_says_it(limits: str, step: str, restored: str) -> None:
    objective = f"A slogan for tea and one for coffee, {limits}"
    prompts, notes = _prompts(objective, f"Write a slogan {step} for tea", "Write one for coffee")
    assert prompts == [f"Write a slogan {restored} for tea", "Write one for coffee"]
    assert len(notes) == 1
    assert notes[0].startswith("S1 had lost the limit of “")


@pytest.mark.parametrize(
    ("objective", "prompt"),
    [
        ("A slogan, max 8 words", "Write a slogan of at most 8 words"),
        ("A slogan, max 8 words", "Write a slogan of 8 words or less"),
        ("A slogan, max 8 words", "Write a slogan of 18 words"),
        ("A slogan, max 8 words", "Write an 8-word slogan"),
        ("A slogan of max 8 words, a poem of 8 words", "Write a poem of 8 words"),
        ("A slogan, max 8 words, a poem, at least 8 words", "Write a poem of 8 words"),
        ("Scale it up to 60 slices", "Scale it to 60 slices"),
        ("Look under two trees", "Look at two trees"),
        ("A hike over three days", "Plan a hike of three days"),
    ],
    ids=["other words", "behind", "more", "hyphen", "both", "two limits", "up to", "under", "over"],
)
def test_what_is_no_lost_limit_stays(objective: str, prompt: str) -> None:
    assert _prompts(objective, prompt) == ([prompt], [])
