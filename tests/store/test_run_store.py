"""The promises of `RunStore`, kept by each adapter; of answers, see `test_approvals`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from eval_results import swarm_result
from prefect_swarm.data_types import Frozen
from prefect_swarm.errors import RunAliveError, RunDamagedError, StorageError
from prefect_swarm.store.accounts import Booking
from prefect_swarm.store.attempt import Attempt, Usage
from prefect_swarm.store.events import BeganEvent, FinishedEvent, ReadyEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.postgres import PostgresRun
from prefect_swarm.store.postgres_files import PostgresFiles
from prefect_swarm.store.postgres_server import close_servers, server_at
from prefect_swarm.store.protocol import DEFERRED, About, PlanRecord, RecordKind, RunStore
from prefect_swarm.store.step import StepState
from store_conformance import Adapter, in_processes, in_threads, killed_after

LONG = "x" * 20_000


class Note(Frozen):
    """Any record."""

    text: str
    key: str = ""


def _folders(root: Path) -> Adapter:
    names = {"accounts": "accounts.jsonl", "events": "events.jsonl"}

    def tear(run: RunStore, what: str) -> None:
        with (Path(run.place()) / names.get(what, f"calls/{what}.jsonl")).open("ab") as file:
            file.write(b'\n{"key": "torn')

    def damage(run: RunStore, what: str) -> None:
        (Path(run.place()) / what).write_text("[]", "utf-8")

    def leftovers(run: RunStore) -> set[str]:
        folder = Path(run.place())
        return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}

    def fill(patched: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        patched.setattr("prefect_swarm.untrusted.folder.UntrustedFolder.replace", full)

    return Adapter(lambda name: RunFolder(root / name), tear, damage, leftovers, fill)


def _databases(dsn: str) -> Adapter:
    names = {"accounts": "accounts.jsonl", "events": "events.jsonl"}
    schema = f"s{uuid4().hex}"

    def files(run: RunStore) -> PostgresFiles:
        assert isinstance(run, PostgresRun)
        return run.files

    def tear(run: RunStore, what: str) -> None:
        files(run).append_line(names.get(what, f"calls/{what}.jsonl"), '{"key": "torn')

    def fill(patched: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise StorageError("The database has no room.")

        patched.setattr(PostgresFiles, "replace", full)

    return Adapter(
        lambda name: PostgresRun(server_at(dsn, schema), name),
        tear,
        lambda run, what: files(run).replace(what, b"[]"),
        lambda run: {*files(run).files()},
        fill,
    )


@pytest.fixture(params=["folder", "postgres"])
def adapter(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Adapter]:
    """Each kind of store."""
    if request.param == "folder":
        yield _folders(tmp_path)
        return
    monkeypatch.setattr("prefect_swarm.store.lease.HEARTBEAT_S", 0.1)
    monkeypatch.setattr("prefect_swarm.store.lease.LEASE_S", 2.0)
    yield _databases(request.getfixturevalue("postgres"))
    close_servers()


@pytest.fixture
def run(adapter: Adapter) -> RunStore:
    return adapter.open("abc")


def step(name: str, *, attempts: int = 1, reason: str = "") -> StepState:
    tried = [
        Attempt(number=n, tier="worker", model="m", started_at=0, ended_at=1)
        for n in range(1, attempts + 1)
    ]
    return StepState(
        id=name, agent="Analyst", status="succeeded", reason=reason, attempts=tuple(tried)
    )


# --- what is written is read --------------------------------------------------------------------


def test_nothing_is_kept_of_a_run_that_has_not_begun(run: RunStore) -> None:
    assert not run.has_started()
    assert not run.about()
    assert (run.plan(), run.result(), run.last_event(), run.record("planning", Note)) == (None,) * 4
    assert (run.inputs(), run.restart_counts(), run.steps(), run.finished_steps()) == (
        {},
        {},
        (),
        (),
    )
    assert [
        *run.events(),
        *run.call_journals("calls"),
        *run.transcripts("S1.1"),
        *run.texts(),
    ] == []


def test_how_a_run_began_is_read_back_and_found_where_one_copy_is_damaged(
    adapter: Adapter, run: RunStore
) -> None:
    about = About("0192f0c4-7a41", "Find out", 5.0, {"model": "test"})
    run.write_about(about)
    assert run.has_started()
    assert run.about() == about
    adapter.damage(run, "run.json")
    assert run.about() == About("0192f0c4-7a41", "Find out", 5.0)


def test_a_plan_has_its_number_of_edits(run: RunStore) -> None:
    for edits in (0, 3):
        run.write_plan(PlanRecord({"steps": []}, edits))
        assert run.plan() == PlanRecord({"steps": []}, edits)


def test_steps_and_outputs_come_in_the_order_of_their_numbers(run: RunStore) -> None:
    for number in (10, 2, 1):
        run.save_step(step(f"S{number}"))
        run.write_output(f"S{number}", str(number))
    assert [found.id for found in run.steps()] == ["S1", "S2", "S10"]
    assert run.finished_steps() == ("S1", "S2", "S10")
    run.forget_step("S2")
    assert (run.step("S2"), run.output("S2"), run.finished_steps()) == (None, None, ("S1", "S10"))


def test_records_are_kept_by_kind_and_key(run: RunStore) -> None:
    kinds: tuple[RecordKind, ...] = ("answer", "form", "prestart", "question", "recall")
    for kind in kinds:
        for key in ("1", "2"):
            run.write_record(kind, Note(text=f"{kind} {key}"), key)
    for kind in kinds:
        assert run.record(kind, Note, "2") == Note(text=f"{kind} 2")
        run.remove_record(kind, "2")
        run.remove_record(kind, "2")
        assert run.record(kind, Note, "2") is None
        assert run.record(kind, Note, "1") == Note(text=f"{kind} 1")


def test_an_output_is_taken_over_from_another_run_and_stays_its_own(
    adapter: Adapter, run: RunStore
) -> None:
    source = run.other("source")
    source.write_output("S1", "of the source")
    assert run.take_output("S1", source)
    assert not run.take_output("S2", source)
    source.write_output("S1", "another")
    assert run.output("S1") == "of the source"


def test_a_run_that_begins_again_keeps_what_had_succeeded(run: RunStore) -> None:
    result = swarm_result("So it is.")
    failed = result.steps[0].model_copy(update={"id": "S2", "status": "failed"})
    result = result.model_copy(update={"steps": (*result.steps[:1], failed)})
    for each in result.steps:
        run.save_step(each)
    run.write_result(result)
    assert run.has_result()
    run.begin_again(result, {"S2"})
    assert not run.has_result()
    assert run.restart_counts() == {"S2": 1}
    assert [found.id for found in run.steps()] == [result.steps[0].id]


def test_a_tools_state_has_its_blobs_and_no_others(run: RunStore) -> None:
    old, new = (hashlib.sha256(data).hexdigest() for data in (b"old", b"new"))
    run.write_tool_state("S1.1", Note(text=old), {old: b"old"})
    run.write_tool_state("S1.1", Note(text="more"))
    assert run.tool_blob("S1.1", old) == b"old"
    run.write_tool_state("S1.1", Note(text=new), {new: b"new"})
    assert run.tool_state("S1.1", Note) == Note(text=new)
    assert run.tool_blob("S1.1", new) == b"new"
    with pytest.raises(RunDamagedError):
        run.tool_blob("S1.1", old)


def test_all_that_is_kept_is_searched_and_erased(run: RunStore) -> None:
    run.write_inputs({"notes": "needle"})
    run.write_output("S1", "hay")
    assert [text for text in run.texts() if "needle" in text]
    with run.exclusive():
        assert not run.erase()
    assert run.erase()
    assert not run.has_started()


# --- order --------------------------------------------------------------------------------------


def test_events_are_read_in_the_order_in_which_they_were_appended(
    adapter: Adapter, run: RunStore
) -> None:
    run.write_about(About("0192f0c4-7a41"))
    with run.event_log() as log:
        log.add(BeganEvent(), "abc")
        log.add(ReadyEvent(step="S1"), "abc")
    adapter.tear(run, "events")
    with adapter.open("abc").event_log() as log:
        assert log.was_started
        log.add(FinishedEvent(), "abc")
    assert [(e.number, e.kind) for e in run.events()] == [
        (1, "began"),
        (2, "ready"),
        (3, "finished"),
    ]
    assert [e.number for e in run.events({"ready"})] == [2]
    last = run.last_event()
    assert last is not None
    assert last.number == 3
    feed = run.event_feed(2)
    assert [e.number for e in feed.fresh()] == [2, 3]
    assert feed.is_finished
    assert [*feed.fresh()] == []


def test_a_line_that_a_kill_cut_off_spoils_none_after_it(adapter: Adapter, run: RunStore) -> None:
    run.book(Booking(key="a", tokens=1))
    run.append_call("calls", "S1.1-x", Note(text="first"))
    for what in ("accounts", "S1.1-x"):
        adapter.tear(run, what)
    run.book(Booking(key="b", tokens=2))
    run.append_call("calls", "S1.1-x", Note(text="second"))
    assert [*run.accounts().open_bookings] == ["a", "b"]
    first, _, last = run.calls("calls", "S1.1-x")
    assert (Note.model_validate_json(first).text, Note.model_validate_json(last).text) == (
        "first",
        "second",
    )
    assert run.call_journals("calls") == ["S1.1-x"]
    assert run.call_journals("begun") == []


def test_a_call_is_reserved_before_it_is_made_and_counts_until_it_is_settled(
    adapter: Adapter, run: RunStore
) -> None:
    for number in range(5):

        def call(_: int, number: int = number) -> None:
            adapter.open("abc").book(Booking(key=f"k{number}", tokens=10))

        killed_after(1, call)
    assert run.accounts().spent.tokens >= 50
    taken = Usage(requests=1)
    for number in range(5):
        run.book(Booking(key=f"k{number}", is_settled=True, tokens=3, usage=taken))
    accounts = run.accounts()
    assert (accounts.open_bookings, accounts.usage.requests) == ({}, 5)


# --- several processes and threads --------------------------------------------------------------


def test_of_many_processes_that_create_a_record_one_succeeds(
    adapter: Adapter, run: RunStore
) -> None:
    for number in range(20):

        def create(process: int, number: int = number) -> bool:
            note = Note(text=LONG, key=str(process))
            return adapter.open("abc").create_record("answer", note, f"S{number}")

        won = in_processes(create)
        assert won.count(True) == 1
        kept = run.record("answer", Note, f"S{number}")
        assert kept == Note(text=LONG, key=str(won.index(True)))


def test_what_many_threads_append_is_all_there(run: RunStore) -> None:
    in_threads(lambda number: run.book(Booking(key=str(number), tokens=1)), 60)
    assert run.accounts().open_bookings.keys() == {str(number) for number in range(60)}


def test_one_process_executes_a_run(adapter: Adapter, run: RunStore) -> None:
    def enter(_: int) -> bool:
        try:
            with adapter.open("abc").exclusive():
                return True
        except RunAliveError:
            return False

    with run.exclusive():
        with run.exclusive():
            assert adapter.open("abc").is_executed()
        from_others: list[bool] = []
        in_threads(lambda number: from_others.append(enter(number)), 2)
        assert from_others == [False, False]
    assert not run.is_executed()
    assert enter(0)


# --- kills --------------------------------------------------------------------------------------

WRITES: dict[str, tuple[Callable[[RunStore, str], object], Callable[[RunStore], str | None]]] = {
    "output": (
        lambda run, text: run.write_output("S1", text),
        lambda run: run.output("S1"),
    ),
    "step": (
        lambda run, text: run.save_step(step("S1", reason=text)),
        lambda run: found.reason if (found := run.step("S1")) else None,
    ),
    "plan": (
        lambda run, text: run.write_plan(PlanRecord({"text": text})),
        lambda run: found.plan["text"] if (found := run.plan()) else None,
    ),
    "record": (
        lambda run, text: run.write_record("planning", Note(text=text)),
        lambda run: found.text if (found := run.record("planning", Note)) else None,
    ),
    "result": (
        lambda run, text: run.write_result(swarm_result(text)),
        lambda run: found.answer if (found := run.result()) else None,
    ),
}


@pytest.mark.parametrize("what", WRITES)
def test_a_write_is_whole_or_the_one_before_it_stays(
    what: str, adapter: Adapter, run: RunStore
) -> None:
    write, read = WRITES[what]
    for kill in range(8):

        def work(number: int) -> None:
            write(adapter.open("abc"), f"{number} {LONG}")

        done = killed_after(kill + 1, work)
        assert read(run) in (f"{done - 1} {LONG}", f"{done} {LONG}")
    before = adapter.leftovers(run)
    with run.exclusive():
        run.remove_temporary_files()
    assert read(run) is not None
    assert len([n for n in before if not Path(n).name.startswith(".")]) == len(
        adapter.leftovers(run) - {"lock"}
    )


# --- no room, and damage ------------------------------------------------------------------------


def test_a_full_disk_costs_what_can_be_made_again_nothing_and_says_the_rest(
    adapter: Adapter, run: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        adapter.fill(patched)
        run.write_output("S1", "kept")
        run.save_step(step("S1"))
        run.write_plan(PlanRecord({"steps": []}))
        run.write_record("planning", Note(text="kept"))
        assert len(run.store_pending()) == 4
        with pytest.raises(StorageError):
            run.save_step(step("S2"), required=True)
        with pytest.raises(StorageError):
            run.write_plan(PlanRecord({}), required=True)
        with pytest.raises(StorageError):
            run.write_record("form", Note(text="lost"), "f")
        with pytest.raises(StorageError):
            run.write_inputs({"a": "b"})
    assert run.store_pending() == ()
    assert (run.output("S1"), run.record("planning", Note)) == ("kept", Note(text="kept"))
    assert "form" not in DEFERRED


@pytest.mark.parametrize(
    "file",
    ["plan.json", "result.json", "inputs.json", "steps/S1.json", "planned.json"],
)
def test_what_is_damaged_is_an_error_with_a_way_out(
    file: str, adapter: Adapter, run: RunStore
) -> None:
    run.write_about(About("0192f0c4-7a41"))
    run.save_step(step("S2"))
    adapter.damage(run, file)
    with pytest.raises(RunDamagedError) as caught:
        _ = (run.plan(), run.result(), run.inputs(), run.steps(), run.record("planning", Note))
    assert caught.value.fix
    assert Path(file).name in caught.value.problem


def test_of_records_damaged_ones_and_those_under_anothers_key_are_left_out(
    adapter: Adapter, run: RunStore, caplog: pytest.LogCaptureFixture
) -> None:
    run.write_record("form", Note(text="one", key="1"), "1")
    run.write_record("form", Note(text="of another", key="1"), "2")
    run.write_record("form", Note(text="damaged", key="3"), "3")
    adapter.damage(run, "forms/3.json")
    assert run.records("form", Note, lambda note: note.key) == (Note(text="one", key="1"),)
    assert "What was answered in it isn't read." in caplog.text
