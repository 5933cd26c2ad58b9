"""`forget` removes what its conditions name, from Python too."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from persona_book import good_evidence
from prefect_swarm import Forgotten, forget
from prefect_swarm.errors import InputError
from prefect_swarm.memory.personas.registry import invent, promote
from prefect_swarm.memory.store import Store, configured_place, open_store
from samples import episode

WORD = "xylophone"
RUN = "0192f0c4-7a41-4d3e-9b1c-aaaaaaaaaaaa"
SLUG = episode(run=RUN, prompt="Write a function that makes a slug of a title")
SOUND = episode(7, prompt=f"Describe how a {WORD} sounds", persona="teacher")
THEIRS = SOUND.model_copy(update={"namespace": "theirs"})


@pytest.fixture
def store(swarm_home: Path) -> Store:
    """The memory that the settings name, open as a run in this process has it, with its index."""
    store = open_store(configured_place())
    store.log.append([SLUG, SOUND])
    assert store.consolidate().generation == 1
    return store


def add_persona(store: Store) -> None:
    """Invent a persona that plays, and promote it on evidence of both episodes."""
    prompt = f"You play the {WORD} and write about it."
    evidence = good_evidence(SLUG.key, SOUND.key)
    store.personas.decide("default", lambda r: invent(r, "Zed", prompt, "chat/text", at=1.0))
    store.personas.decide(
        "default", lambda r: promote(r, "zed", at=2.0).model_copy(update={"evidence": evidence})
    )


def read_files(store: Store) -> bytes:
    return b"".join(file.read_bytes() for file in store.place.folder.rglob("*") if file.is_file())


def search_prompts(store: Store, namespace: str = "default") -> list[str]:
    return [entry.episode.prompt for entry, _ in store.similar(namespace, WORD, 10)]


def test_a_search_finds_no_more_what_was_forgotten(store: Store) -> None:
    assert search_prompts(store)[0] == SOUND.prompt
    assert forget(containing=WORD) == Forgotten(episodes=1, generation=2)
    assert search_prompts(store) == [SLUG.prompt]


def test_the_log_has_the_others_and_no_more(store: Store) -> None:
    forget(containing=WORD.upper())
    assert [entry.episode for entry in store.log.since(0)] == [SLUG]


def test_no_file_has_the_forgotten_word(store: Store) -> None:
    add_persona(store)
    store.keep_beliefs("default")
    assert WORD.encode() in read_files(store)
    forget(containing=WORD)
    assert WORD.encode() not in read_files(store)


def test_evidence_about_personas_loses_the_keys_and_keeps_its_counts(store: Store) -> None:
    add_persona(store)
    assert forget(run=SOUND.run).decisions == 1
    evidence = store.personas.changes("default")[1].evidence
    assert evidence is not None
    assert (evidence.episodes, evidence.successes) == ((SLUG.key,), 2)


@pytest.mark.parametrize("condition", [{"containing": WORD}, {"persona": "zed"}])
def test_an_invented_persona_goes_with_its_prompt(store: Store, condition: dict[str, Any]) -> None:
    add_persona(store)
    done = forget(**condition)
    assert (done.personas, done.decisions) == (("zed",), 2)
    assert "zed" not in store.personas.registry("default").known


def test_a_run_may_have_its_short_name(store: Store) -> None:
    assert forget(run="0192f0c47a41").episodes == 1
    assert search_prompts(store) == [SOUND.prompt]


def test_another_namespace_keeps_what_it_has(store: Store) -> None:
    store.remember(THEIRS)
    assert forget(everything=True).episodes == 2
    assert (search_prompts(store), search_prompts(store, "theirs")) == ([], [THEIRS.prompt])


@pytest.mark.parametrize("zone", [UTC, None])
def test_before_is_a_time_with_or_without_a_zone(store: Store, zone: Any) -> None:
    assert forget(before=datetime.fromtimestamp(SOUND.ended_at, zone)).episodes == 1
    assert search_prompts(store) == [SOUND.prompt]


def test_what_nothing_matches_removes_nothing(store: Store) -> None:
    assert forget(step="S9") == Forgotten()
    assert store.log.count() == 2


def test_a_memory_without_an_index_gets_none(swarm_home: Path) -> None:
    place = configured_place()
    store = Store(place)
    store.remember(SOUND)
    store.close()
    assert forget(persona="teacher") == Forgotten(episodes=1)
    assert not (place.folder / "current").exists()


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ({}, "Nothing says what to forget"),
        ({"run": " "}, "^run is empty"),
        ({"everything": True, "step": "S1"}, "^everything was given with a condition"),
        ({"before": datetime.min}, "^before is out of range"),
        ({"step": "S1", "embedder": "none"}, "There is no embedder"),
    ],
)
def test_what_is_unclear_is_refused(store: Store, conditions: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        forget(**conditions)
    assert store.log.count() == 2
