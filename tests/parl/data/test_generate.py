"""A seed makes the same mix of pairs everywhere."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.parl.data import generate as module
from prefect_swarm.parl.data import noise as apply
from prefect_swarm.parl.data.expand import Expansion
from prefect_swarm.parl.data.generate import (
    Corpus,
    Pair,
    Part,
    combine_requests,
    generate,
    kinds,
    mix,
    part_of,
    split,
)
from prefect_swarm.parl.data.pattern import Pattern

GOLDEN = "948d31c697e4824f"
"""Of the sample's pairs; it changes with the engine or the sample, never with a machine."""


def digest(pairs: Sequence[Pair]) -> str:
    return hashlib.sha256(json.dumps([astuple(pair) for pair in pairs]).encode()).hexdigest()[:16]


@pytest.fixture
def shipped(sample: Corpus, monkeypatch: pytest.MonkeyPatch) -> tuple[Pattern, ...]:
    """The sample's patterns in place of those the package ships."""
    monkeypatch.setattr(module, "patterns", lambda: sample.patterns)
    return sample.patterns


def test_a_seed_gives_the_same_pairs(sample: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "PLAIN_SHARE", 1.0)
    assert digest(mix(sample.patterns, seed=7, count=60)) == GOLDEN


def test_a_seed_gives_the_same_pairs_in_another_process(sample: Corpus) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from prefect_swarm.parl.data.generate import read_corpus\n"
        "from prefect_swarm.parl.data.generate import mix\n"
        "pairs = mix(read_corpus(Path(sys.argv[1])).patterns, 7, 40)\n"
        "print(ascii([(pair.objective, pair.plan, pair.kind) for pair in pairs]))"
    )
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).with_name("sample"))],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": hash_seed},
        )
        assert done.stdout.strip() == ascii([astuple(pair) for pair in mix(sample.patterns, 7, 40)])


def test_another_seed_gives_others(sample: Corpus) -> None:
    assert mix(sample.patterns, 1, 20) != mix(sample.patterns, 2, 20)


def test_no_objective_comes_twice(sample: Corpus) -> None:
    pairs = mix(sample.patterns, 3, 300)
    assert len({pair.objective.casefold() for pair in pairs}) == 300


def test_a_third_is_narrow(sample: Corpus) -> None:
    narrow = {found.kind for found in sample.patterns if found.is_narrow}
    assert narrow == {"chain", "single"}
    found = Counter(pair.kind in narrow for pair in mix(sample.patterns, 3, 90))
    assert found[True] == 30


def test_some_of_the_wider_ones_are_two_requests_in_one_message(
    sample: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    combined: list[Expansion] = []

    def noted(first: Expansion, second: Expansion, rng: random.Random) -> Expansion:
        combined.append(combine_requests(first, second, rng))
        return combined[-1]

    monkeypatch.setattr(module, "combine_requests", noted)
    pairs = mix(sample.patterns, 3, 300)
    assert 5 < len(combined) < 40
    plans = {pair.plan for pair in pairs}
    assert sum(expansion.plan in plans for expansion in combined) > len(combined) / 2


def test_a_kinds_share_grows_with_its_patterns_but_more_slowly(sample: Corpus) -> None:
    of_kind = {found.kind: found for found in sample.patterns}
    blocks = [*[of_kind["compare_choose"]] * 9, of_kind["grid"]]
    shares = Counter(pair.kind for pair in mix(blocks, 0, 200))
    assert 3 < shares["compare_choose"] / shares["grid"] < 8


def test_more_than_there_is_can_not_be_had(sample: Corpus) -> None:
    single = [found for found in sample.patterns if found.kind == "counted"]
    with pytest.raises(InputError) as caught:
        mix(single, 0, 5000)
    assert "objectives, not 5000" in caught.value.problem


def test_no_patterns_give_no_pairs() -> None:
    assert mix([], 0, 0) == []
    with pytest.raises(InputError):
        mix([], 0, 1)


def test_narrow_ones_that_run_out_are_made_up_for(sample: Corpus) -> None:
    pairs = mix(
        [pattern for pattern in sample.patterns if pattern.kind in ("chain", "compare_choose")],
        0,
        600,
    )
    assert len(pairs) == 600


def test_a_patterns_text_alone_decides_its_part(sample: Corpus) -> None:
    found = sample.patterns[0]
    moved = replace(found, file="patterns/other.txt", line=99)
    assert part_of(moved) == part_of(found)
    changed = {part_of(replace(found, text=f"{found.text}{number}")) for number in range(100)}
    assert changed == {"train", "development"}


def test_about_an_eighth_is_for_development(sample: Corpus) -> None:
    found = sample.patterns[0]
    many = [replace(found, text=str(number)) for number in range(2000)]
    train, development = split(many)
    assert len(train) + len(development) == 2000
    assert abs(len(development) / 2000 - 0.12) < 0.02


def chains_are_for_development(found: Pattern) -> Part:
    return "development" if found.kind == "chain" else "train"


def test_the_parts_share_no_pattern(
    shipped: tuple[Pattern, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "part_of", chains_are_for_development)
    assert {pair.kind for pair in generate(0, 10, part="development")} == {"chain"}
    assert "chain" not in {pair.kind for pair in generate(0, 100)}


def test_kinds_can_be_chosen(shipped: tuple[Pattern, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "part_of", chains_are_for_development)
    pairs = generate(0, 30, kinds=["single", "grid"])
    assert {pair.kind for pair in pairs} == {"single", "grid"}
    with pytest.raises(InputError) as caught:
        generate(0, 1, kinds=["single", "double"])
    assert caught.value.problem == "There is no kind 'double'."


def test_the_first_kinds_are_a_fair_choice(shipped: tuple[Pattern, ...]) -> None:
    found = kinds()
    assert found[:4] == ("single", "chain", "code_with_tests", "compare_choose")
    assert sorted(found) == sorted({pattern.kind for pattern in shipped})
