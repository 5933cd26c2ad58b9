"""Questions and answers of a run: whole or not there, and the first answer counts."""

from __future__ import annotations

from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import AnsweredError, RunDamagedError, StorageError
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, Question, Verdict
from prefect_swarm.untrusted.opening import is_plain_name
from store_conformance import FORK, killed_after


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "abc")


@pytest.fixture
def approvals(run: RunFolder) -> Approvals:
    return Approvals(run)


def question(name: str = "S1", subject: str = "", at: float = 0.0) -> Question:
    return Question(id=name, asked="step", step="S1", title="May S1 begin?", subject=subject, at=at)


def answer(name: str = "S1", verdict: Verdict = "approved", why: str = "") -> Answer:
    return Answer(question=name, verdict=verdict, why=why, by="command")


# --- what is kept -------------------------------------------------------------------------------


def test_a_question_is_pending_until_it_is_answered(approvals: Approvals) -> None:
    approvals.ask(question("S2", at=2.0))
    approvals.ask(question("S1", at=1.0))
    assert [q.id for q in approvals.pending()] == ["S1", "S2"]
    approvals.answer(answer("S1"))
    assert [q.id for q in approvals.pending()] == ["S2"]
    assert [q.id for q in approvals.questions()] == ["S1", "S2"]


def test_a_question_that_is_asked_again_stays_as_it_was(approvals: Approvals) -> None:
    first = approvals.ask(question(at=1.0))
    assert approvals.ask(question(at=2.0)) == first
    assert approvals.questions() == (first,)


def test_an_answer_counts_for_the_subject_that_was_asked_about_alone(approvals: Approvals) -> None:
    approvals.ask(question(subject="the first plan's step"))
    approvals.answer(answer())
    other = approvals.ask(question(subject="the second plan's step"))
    assert other.id == "S1#2"
    assert approvals.answer_to(other.id) is None
    assert approvals.ask(question(subject="the first plan's step")).id == "S1"


def test_an_answer_is_stored_with_what_it_is_about(approvals: Approvals) -> None:
    asked = approvals.ask(question(subject="a call"))
    approvals.answer(answer())
    found = approvals.decision("S1", "a call")
    assert found is not None
    assert (found.subject, found.verdict) == (asked.subject, "approved")
    assert approvals.decision("S1", "another call") is None
    assert approvals.decision("S1", "") is None


def test_an_answer_to_another_subject_is_refused(approvals: Approvals) -> None:
    approvals.ask(question(subject="a call"))
    with pytest.raises(AnsweredError, match="S1 of run abc is about something else now"):
        approvals.answer(answer().model_copy(update={"subject": "another call"}))
    assert approvals.answer_to("S1") is None


def test_an_approval_is_used_once(approvals: Approvals) -> None:
    approvals.ask(question(subject="a call"))
    approvals.answer(answer())
    found = approvals.decision("S1", "a call")
    assert found is not None
    assert not approvals.was_used("S1", "a call")
    approvals.use(found, at=7.0)
    assert approvals.decision("S1", "a call") is None
    assert approvals.was_used("S1", "a call")
    assert approvals.ask(question(subject="a call")).id == "S1#2"
    assert approvals.pending()[0].id == "S1#2"


def test_an_answer_that_came_before_its_question_decides_nothing(approvals: Approvals) -> None:
    approvals.answer(answer())
    assert approvals.ask(question(subject="a call")).id == "S1#2"
    assert approvals.decision("S1", "a call") is None


def test_a_replaced_question_is_withdrawn(approvals: Approvals) -> None:
    approvals.ask(question(subject="a call"))
    other = approvals.ask(question(subject="another call"))
    assert approvals.pending() == (other,)
    withdrawn = approvals.answer_to("S1")
    assert withdrawn is not None
    assert withdrawn.is_withdrawal
    approvals.answer(answer(other.id))
    assert approvals.decision("S1", "a call") is None


def test_an_answer_of_an_older_version_is_asked_for_again(
    run: RunFolder, approvals: Approvals, caplog: pytest.LogCaptureFixture
) -> None:
    approvals.ask(question(subject="a plan"))
    run.write("answers/S1.json", {"question": "S1", "verdict": "approved"})
    assert approvals.decision("S1", "a plan") is None
    assert approvals.ask(question(subject="a plan")).id == "S1#2"
    assert "S1 is approved, in the form of an older version" in caplog.text


def test_nothing_is_an_answer_before_somebody_gave_one(approvals: Approvals) -> None:
    approvals.ask(question())
    assert approvals.answer_to("S1") is None
    assert approvals.readable_answer("S1") is None


def test_approved_twice_is_approved_once(approvals: Approvals) -> None:
    approvals.answer(answer(why="first"))
    approvals.answer(answer(why="second"))
    kept = approvals.answer_to("S1")
    assert kept is not None
    assert kept.why == "first"


def test_another_verdict_is_refused_and_the_first_stays(approvals: Approvals) -> None:
    approvals.answer(answer())
    with pytest.raises(AnsweredError, match="S1 of run abc is approved already, by command"):
        approvals.answer(answer(verdict="rejected"))
    kept = approvals.answer_to("S1")
    assert kept is not None
    assert kept.verdict == "approved"


def test_another_edited_plan_is_another_answer(approvals: Approvals) -> None:
    approvals.answer(Answer(question="plan", verdict="edited", plan={"a": 1}))
    approvals.answer(Answer(question="plan", verdict="edited", plan={"a": 1}))
    with pytest.raises(AnsweredError):
        approvals.answer(Answer(question="plan", verdict="edited", plan={"a": 2}))


@given(st.text(min_size=1, max_size=300))
def test_a_question_of_any_id_is_one_file_of_a_plain_name(name: str) -> None:
    with TemporaryDirectory() as home:
        approvals = Approvals(RunFolder(Path(home) / "abc"))
        approvals.ask(question(name))
        (file,) = (path for path in Path(home).rglob("*") if path.is_file())
        assert file.parent == Path(home) / "abc" / "questions"
        assert is_plain_name(file.name)
        assert len(file.name.encode()) < 200
        assert [pending.id for pending in approvals.pending()] == [name]


@pytest.mark.parametrize(
    "name", ["Ümläute", "第三步", "S1/../../x", "a" * 400, "🦀.1.2", ".", "S1#2"]
)
def test_an_id_of_any_script_is_kept_and_found(approvals: Approvals, name: str) -> None:
    approvals.ask(question(name))
    assert [q.id for q in approvals.pending()] == [name]
    approvals.answer(answer(name))
    assert approvals.pending() == ()
    assert approvals.answer_to(name) == answer(name)


def test_two_long_ids_are_two(approvals: Approvals) -> None:
    approvals.answer(answer("a" * 300 + "b"))
    assert approvals.answer_to("a" * 300 + "c") is None


# --- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "\x00" * 40,
        '{"question": "S1"}',
        '{"question": "S1", "verdict": "yes"}',
        '{"question": "S1", "verdict": "approved", "more": 1}',
        '{"question": "S1", "verdict": "edited"}',
        '{"question": "S2", "verdict": "approved"}',
    ],
)
def test_a_damaged_answer_is_never_an_approval(
    run: RunFolder, approvals: Approvals, text: str
) -> None:
    approvals.ask(question())
    path = run.folder / "answers" / "S1.json"
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    with pytest.raises(RunDamagedError, match=r"S1\.json is damaged"):
        approvals.answer_to("S1")
    assert approvals.readable_answer("S1") is None
    assert [q.id for q in approvals.pending()] == ["S1"]
    with pytest.raises(RunDamagedError):
        approvals.answer(answer())
    path.unlink()
    approvals.answer(answer())
    assert approvals.pending() == ()


def test_a_damaged_question_is_left_out_and_written_again_when_it_is_asked(
    run: RunFolder, approvals: Approvals
) -> None:
    approvals.ask(question())
    (run.folder / "questions" / "S1.json").write_text("{", "utf-8")
    assert approvals.questions() == ()
    approvals.ask(question())
    assert approvals.questions() == (question(),)


def test_a_disk_that_takes_nothing_is_an_error_and_no_answer(tmp_path: Path) -> None:
    (tmp_path / "abc").write_text("a file in the folder's place", "utf-8")
    with pytest.raises(StorageError, match="can't be written"):
        Approvals(RunFolder(tmp_path / "abc")).answer(answer())


# --- several processes --------------------------------------------------------------------------

ROUNDS = 60


def _answer_all(folder: Path, verdict: Verdict, barrier: Barrier, out: Connection) -> None:
    approvals = Approvals(RunFolder(folder))
    for number in range(ROUNDS):
        barrier.wait()
        try:
            approvals.answer(answer(f"S{number}", verdict))
            out.send("kept")
        except AnsweredError as error:
            out.send(str(error))


def test_of_two_answers_in_parallel_the_first_counts_and_the_other_is_refused(
    tmp_path: Path,
) -> None:
    barrier, verdicts = FORK.Barrier(2), ("approved", "rejected")
    pipes = {verdict: FORK.Pipe() for verdict in verdicts}
    processes = [
        FORK.Process(target=_answer_all, args=(tmp_path / "abc", verdict, barrier, pipe[1]))
        for verdict, pipe in pipes.items()
    ]
    for process in processes:
        process.start()
    heard = {verdict: [pipe[0].recv() for _ in range(ROUNDS)] for verdict, pipe in pipes.items()}
    for process in processes:
        process.join()
    approvals = Approvals(RunFolder(tmp_path / "abc"))
    for number in range(ROUNDS):
        kept = approvals.answer_to(f"S{number}")
        assert kept is not None
        (loser,) = [verdict for verdict in verdicts if verdict != kept.verdict]
        assert heard[kept.verdict][number] == "kept"
        assert f"is {kept.verdict} already" in heard[loser][number]


def _clean(folder: Path, out: Connection) -> None:
    while not out.poll():
        RunFolder(folder).remove_temporary_files()


def test_removing_temporary_files_loses_no_answer(run: RunFolder, approvals: Approvals) -> None:
    run.folder.mkdir(parents=True)
    ours, theirs = FORK.Pipe()
    cleaner = FORK.Process(target=_clean, args=(run.folder, theirs))
    cleaner.start()
    try:
        for number in range(200):
            approvals.answer(answer(f"S{number}"))
    finally:
        ours.send("enough")
        cleaner.join()
    assert all(approvals.answer_to(f"S{number}") for number in range(200))


@pytest.mark.parametrize("kills", [6, pytest.param(30, marks=pytest.mark.exhaustive)])
def test_a_kill_loses_no_answer_and_invents_none(
    run: RunFolder, approvals: Approvals, kills: int
) -> None:
    for kill in range(kills):

        def work(number: int, kill: int = kill) -> None:
            approvals.ask(question(f"{kill}.{number}"))
            approvals.answer(answer(f"{kill}.{number}", why="x" * 2000))

        done = killed_after(kill + 1, work)
        for number in range(done):
            assert approvals.answer_to(f"{kill}.{number}") is not None
        # The one that it was just writing is whole, or not there at all.
        rest = approvals.answer_to(f"{kill}.{done}")
        assert rest is None or rest.why == "x" * 2000
        assert approvals.answer_to(f"{kill}.{done + 1}") is None
    approvals.run.remove_temporary_files()
    assert {p.suffix for p in run.folder.rglob("*") if p.is_file()} == {".json"}
