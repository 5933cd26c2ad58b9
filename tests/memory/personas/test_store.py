"""Decisions about personas are kept once and for good, whoever decides at the same time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from persona_book import NOW, TEA, attempts_of
from persona_writers import start_decider
from prefect_swarm.errors import InputError, MemoryStoreError
from prefect_swarm.memory.personas.registry import Change, Registry, invent, retire, undo
from prefect_swarm.memory.personas.review import collect_outcomes, review
from prefect_swarm.memory.personas.store import LAYOUT, PersonaStore

MINE = "default"


@pytest.fixture
def path(quick_folder: Path) -> Path:
    """Where a store may be made."""
    return quick_folder / "memory" / "personas.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[PersonaStore]:
    """An empty store."""
    made = PersonaStore(path, path.parent / "personas")
    yield made
    made.close()


def invent_tea_expert(registry: Registry) -> Change | None:
    return invent(registry, "Tea Expert", TEA, "chat/text", at=NOW)


def retire_judge(registry: Registry) -> Change:
    return retire(registry, "judge", at=NOW, reason="too soft")


def test_an_empty_store_has_the_shipped_personas(store: PersonaStore) -> None:
    assert {known.origin for known in store.registry(MINE).known.values()} == {"shipped"}


def test_what_is_decided_is_read_back_whole(store: PersonaStore, path: Path) -> None:
    store.decide(MINE, invent_tea_expert)
    beliefs = collect_outcomes(attempts_of("tea-expert", [True] * 12))
    store.append(MINE, review(store.registry(MINE), beliefs, at=NOW))
    store.decide(MINE, retire_judge)
    store.decide(MINE, lambda registry: undo(registry, "tea-expert", at=NOW))
    reopened = PersonaStore(path)
    assert reopened.changes(MINE) == store.changes(MINE)
    assert [
        (change.id, change.persona, change.action, change.after)
        for change in reopened.changes(MINE)
    ] == [
        (1, "tea-expert", "invent", "candidate"),
        (2, "tea-expert", "promote", "promoted"),
        (3, "judge", "retire", "retired"),
        (4, "tea-expert", "undo", "candidate"),
    ]
    known = reopened.registry(MINE).known
    assert (known["tea-expert"].is_held, known["judge"].reason) == (True, "too soft")
    promotion = reopened.changes(MINE)[1].evidence
    assert promotion is not None
    assert len(promotion.episodes) == 12
    reopened.close()


def test_a_users_folder_comes_before_what_is_shipped(store: PersonaStore, path: Path) -> None:
    (path.parent / "personas").mkdir()
    own = "name: judge\ntitle: Judge\nversion: 1\ntask_types: ['*/json']\ninstructions: Judge.\n"
    (path.parent / "personas" / "judge.yaml").write_text(own, encoding="utf-8")
    assert store.registry(MINE).known["judge"].persona.task_types == ("*/json",)
    assert store.registry(MINE).known["judge"].origin == "user"


def test_nothing_is_read_across_namespaces(store: PersonaStore) -> None:
    store.decide("one", invent_tea_expert)
    store.decide("one", retire_judge)
    assert store.changes("two") == ()
    assert store.registry("two").match("Tea Expert", TEA, "chat/text") is None
    assert store.registry("two").known["judge"].status == "active"
    store.decide("two", invent_tea_expert)
    assert store.forget("one") == 2
    assert [change.persona for change in store.changes("two")] == ["tea-expert"]


def test_what_was_decided_on_an_old_registry_is_void(store: PersonaStore) -> None:
    store.decide(MINE, invent_tea_expert)
    beliefs = collect_outcomes(attempts_of("tea-expert", [True] * 12))
    stale = store.registry(MINE)
    first = store.append(MINE, review(stale, beliefs, at=NOW))
    assert [change.after for change in first] == ["promoted"]
    assert store.append(MINE, review(stale, beliefs, at=NOW)) == ()
    assert len(store.changes(MINE)) == 2


def test_of_several_changes_only_the_void_ones_are_left_out(store: PersonaStore) -> None:
    store.decide(MINE, invent_tea_expert)
    stale = store.registry(MINE)
    store.decide(MINE, retire_judge)
    decided = [retire(stale, name, at=NOW) for name in ("judge", "editor", "tea-expert")]
    assert [change.persona for change in store.append(MINE, decided)] == ["editor", "tea-expert"]


def test_deciding_is_done_again_where_another_was_quicker(store: PersonaStore) -> None:
    asked: list[str] = []

    def decide_late(registry: Registry) -> Change:
        asked.append(registry.known["judge"].status)
        if len(asked) == 1:
            store.decide(MINE, retire_judge)
            store.decide(MINE, lambda now: undo(now, "judge", at=NOW))
        return retire_judge(registry)

    store.decide(MINE, decide_late)
    assert asked == ["active", "active"]
    assert [change.action for change in store.changes(MINE)] == ["retire", "undo", "retire"]


def test_deciding_what_makes_no_sense_leaves_nothing(store: PersonaStore) -> None:
    store.decide(MINE, retire_judge)
    with pytest.raises(InputError, match="retired already"):
        store.decide(MINE, retire_judge)
    assert store.decide(MINE, lambda _: None) is None
    assert len(store.changes(MINE)) == 1


def test_a_change_is_never_changed(store: PersonaStore, path: Path) -> None:
    store.decide(MINE, retire_judge)
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        db.execute("UPDATE changes SET after = 'active'")
    db.close()


def test_what_is_forgotten_is_gone_from_the_files(store: PersonaStore, path: Path) -> None:
    private = "You know that the vault's number is 5512."
    store.decide(MINE, lambda r: invent(r, "Tea Expert", private, "chat/text", at=NOW))
    store.decide(MINE, retire_judge)
    assert any(private.encode() in file.read_bytes() for file in path.parent.iterdir())
    assert store.forget(MINE, "tea-expert") == 1
    assert "tea-expert" not in store.registry(MINE).known
    assert not any(private.encode() in file.read_bytes() for file in path.parent.iterdir())
    assert [change.persona for change in store.changes(MINE)] == ["judge"]


def test_an_id_is_never_used_twice(store: PersonaStore) -> None:
    store.decide(MINE, retire_judge)
    store.forget(MINE)
    change = store.decide(MINE, retire_judge)
    assert change is not None
    assert (change.id, change.follows) == (2, 0)


def test_a_name_of_any_alphabet_is_kept(store: PersonaStore) -> None:
    store.decide(MINE, lambda r: invent(r, "お茶の専門家", "☕ «é»\n\ttab", "chat/text", at=NOW))
    found = store.registry(MINE).match("お茶の専門家", "☕ «é»\n\ttab", "chat/text")
    assert found is not None
    assert found.name == "お茶の専門家"


def test_a_damaged_file_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database, but long enough to be taken for one" * 100)
    with pytest.raises(MemoryStoreError, match=r"personas\.sqlite is damaged"):
        PersonaStore(path)


@pytest.mark.parametrize("left", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_what_a_power_cut_leaves_opens_with_what_came_first(
    store: PersonaStore, path: Path, quick_folder: Path, left: float
) -> None:
    names = ["judge", "editor", "planner", "teacher", "translator"]
    for name in names:
        store.decide(MINE, partial(retire, name=name, at=NOW))
    wal = path.with_name(f"{path.name}-wal").read_bytes()
    (copy := quick_folder / "left" / path.name).parent.mkdir()
    copy.write_bytes(path.read_bytes())
    copy.with_name(f"{copy.name}-wal").write_bytes(wal[: int(len(wal) * left)])
    reopened = PersonaStore(copy)
    kept = [change.persona for change in reopened.changes(MINE)]
    assert kept == names[: len(kept)]
    assert len(kept) == 5 or left < 1
    reopened.decide(MINE, partial(retire, name="summariser", at=NOW))
    reopened.close()


def test_another_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE recipes (name TEXT)")
    db.commit()
    before = path.read_bytes()
    with pytest.raises(MemoryStoreError, match="something else"):
        PersonaStore(path)
    db.close()
    assert path.read_bytes()[100:] == before[100:]


def test_a_newer_layout_is_left_alone(store: PersonaStore, path: Path) -> None:
    store.decide(MINE, retire_judge)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    db.close()
    with pytest.raises(MemoryStoreError, match="newer version"):
        PersonaStore(path)


def test_a_row_that_makes_no_sense_is_named(store: PersonaStore, path: Path) -> None:
    store.decide(MINE, retire_judge)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("DROP TRIGGER changes_are_final")
    db.execute("UPDATE changes SET after = 'admired'")
    db.close()
    with pytest.raises(MemoryStoreError, match="Change 1 in "):
        store.registry(MINE)


def test_threads_that_invent_the_same_agent_enter_it_once(store: PersonaStore) -> None:
    together = threading.Barrier(8)

    def work() -> None:
        together.wait()
        store.decide(MINE, invent_tea_expert)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [change.persona for change in store.changes(MINE)] == ["tea-expert"]


@pytest.mark.slow
def test_two_processes_lose_nothing_and_overwrite_nothing(store: PersonaStore, path: Path) -> None:
    with start_decider(path, 1, 15) as first, start_decider(path, 2, 15) as second:
        ids = [
            int(line) for process in (first, second) for line in process.communicate()[0].split()
        ]
    assert sorted(ids) == list(range(1, 61))
    changes = store.changes(MINE)
    assert [change.id for change in changes] == sorted(ids)
    judged = [change for change in changes if change.persona == "judge"]
    assert len(judged) == 30
    for earlier, later in pairwise(judged):
        assert (later.follows, later.before) == (earlier.id, earlier.after)
    names = {f"expert-{writer}-{number}" for writer in (1, 2) for number in range(15)}
    assert names <= set(store.registry(MINE).known)


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nothing_it_said(store: PersonaStore, path: Path) -> None:
    with start_decider(path, 1, 10_000) as killed, start_decider(path, 2, 10) as other:
        assert killed.stdout is not None
        ids = [int(killed.stdout.readline()) for _ in range(10)]
        killed.kill()
        ids += [int(line) for line in killed.stdout.read().split("\n")[:-1]]
        ids += [int(line) for line in other.communicate()[0].split()]
    stored = [change.id for change in store.changes(MINE)]
    assert len(ids) == len(set(ids))
    assert set(ids) <= set(stored)
    assert len(stored) <= len(ids) + 1


def test_a_definition_with_the_fields_of_old_is_read(store: PersonaStore, path: Path) -> None:
    store.decide(MINE, invent_tea_expert)
    old = '{"gates": ["+length"], "tools": [], '
    with sqlite3.connect(path) as db:
        db.execute("DROP TRIGGER changes_are_final")
        db.execute("UPDATE changes SET definition = ? || substr(definition, 2)", (old,))
    db.close()
    assert "tea-expert" in store.registry(MINE).known
