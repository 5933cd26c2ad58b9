"""Versions of procedures are numbered, never changed, and found by name, in both kinds of store."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.plan.procedure import Procedure, procedure_text
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store.procedures import (
    export_procedures,
    find_procedure,
    import_procedures,
    list_procedures,
    make_current,
    remove_procedure,
    save_procedure,
    versions_of,
)
from prefect_swarm.store.runs import store_address
from runs_database import STORE, do

pytestmark = pytest.mark.usefixtures("swarm_home")


@pytest.fixture(params=["folder", "postgres"])
def where(request: pytest.FixtureRequest) -> str:
    """Each place where procedures may be."""
    if request.param == "postgres":
        return str(request.getfixturevalue("runs_database"))
    return ""


@pytest.fixture
def other_versions(tmp_path: Path) -> Path:
    """Versions 1 to 3 of a procedure that another store has."""
    (folder := tmp_path / "other").mkdir()
    for number in (1, 2, 3):
        text = procedure_text(procedure(f"number {number}"))
        (folder / f"report@{number}.yaml").write_text(text, "utf-8")
    return folder


def procedure(purpose: str, name: str = "report") -> Procedure:
    data: dict[str, Any] = {
        "objective": "Report",
        "agents": [{"name": "Clerk", "system_prompt": "You report."}],
        "steps": [{"id": "S1", "agent": "Clerk", "prompt": "Report."}],
    }
    return Procedure(name=name, purpose=purpose, plan=parse_plan(data))


@pytest.mark.usefixtures("where")
def test_each_change_is_a_version_and_the_newest_is_current() -> None:
    first = save_procedure(procedure("one"))
    second = save_procedure(procedure("two"))
    assert (first.reference, second.reference) == ("report@1", "report@2")
    assert find_procedure("report").procedure.purpose == "two"
    assert find_procedure("report@1").procedure.purpose == "one"
    assert first.digest != second.digest


@pytest.mark.usefixtures("where")
def test_the_same_text_is_no_second_version() -> None:
    save_procedure(procedure("one"))
    assert save_procedure(procedure("one")).reference == "report@1"
    assert versions_of("report") == (1,)


@pytest.mark.usefixtures("where")
def test_an_earlier_version_becomes_current_until_another_is_saved() -> None:
    save_procedure(procedure("one"))
    save_procedure(procedure("two"))
    assert make_current("report@1").is_current
    assert find_procedure("report").version == 1
    assert not find_procedure("report@2").is_current
    # It is current no more, so its text is a version of its own again.
    assert save_procedure(procedure("two")).reference == "report@3"
    assert find_procedure("report").version == 3


@pytest.mark.usefixtures("where")
def test_of_processes_that_save_together_each_has_a_version() -> None:
    threads = [
        threading.Thread(target=save_procedure, args=(procedure(f"number {number}"),))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {find_procedure(f"report@{number}").procedure.purpose for number in range(1, 9)}
    assert found == {f"number {number}" for number in range(8)}


@pytest.mark.usefixtures("where")
def test_they_are_listed_by_name_and_removed() -> None:
    for name in ("b", "a"):
        save_procedure(procedure("x", name))
    assert [each.reference for each in list_procedures()] == ["a@1", "b@1"]
    assert remove_procedure("a") == (1,)
    assert [each.reference for each in list_procedures()] == ["b@1"]


@pytest.mark.usefixtures("where")
def test_a_single_version_is_not_removed_and_neither_are_the_others() -> None:
    save_procedure(procedure("one"))
    save_procedure(procedure("two"))
    with pytest.raises(InputError, match=r"report@1 is one version"):
        remove_procedure("report@1")
    assert versions_of("report") == (1, 2)


@pytest.mark.usefixtures("where")
@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("absent", r"no procedure 'absent'\. There are these: report"),
        ("report@7", r"no version 7\. It has these: 1"),
        ("../report", "names no procedure"),
        ("report@0", "names no procedure"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(reference: str, problem: str) -> None:
    save_procedure(procedure("one"))
    with pytest.raises(InputError, match=problem):
        find_procedure(reference)


def test_a_file_that_was_changed_by_hand_is_refused_where_it_breaks_a_rule(
    swarm_home: Path,
) -> None:
    path = Path(save_procedure(procedure("one")).place)
    assert path.is_relative_to(swarm_home)
    path.write_text(path.read_text("utf-8").replace("name: report", "name: other"), "utf-8")
    with pytest.raises(InputError, match="has the name other"):
        find_procedure("report")
    path.write_text("steps: 1", "utf-8")
    with pytest.raises(InputError, match=r"1\.yaml is no procedure"):
        find_procedure("report")


def test_a_row_that_was_changed_by_hand_is_refused_and_its_place_is_said(
    runs_database: str,
) -> None:
    stored = save_procedure(procedure("one"))
    assert stored.place.startswith("postgresql (")
    assert stored.place.endswith(") report@1")
    do(runs_database, "UPDATE prefect_swarm_runs.procedures SET data = 'steps: 1'")
    with pytest.raises(InputError, match=r"postgresql \(.*\) report@1 is no procedure"):
        find_procedure("report")


def test_a_procedure_of_the_data_folder_is_not_found_in_the_database_and_that_is_said(
    runs_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_folder(runs_database, monkeypatch):
        save_procedure(procedure("one"))
    with pytest.raises(InputError, match=r"no procedure 'report'.*The data folder has it"):
        find_procedure("report")


@contextmanager
def in_folder(runs_database: str, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Have runs and procedures in the data folder for a while."""
    monkeypatch.delenv(STORE)
    store_address.cache_clear()
    yield
    monkeypatch.setenv(STORE, runs_database)
    store_address.cache_clear()


# --- export and import --------------------------------------------------------------------------


def test_what_is_exported_of_the_folder_is_imported_by_the_database_as_it_was(
    runs_database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with in_folder(runs_database, monkeypatch):
        before = [save_procedure(procedure(f"number {number}")) for number in range(11)]
        assert len(export_procedures(tmp_path / "out")) == 11
    stored = import_procedures([*(tmp_path / "out").iterdir()])
    assert stored == tuple(f"report@{number}" for number in range(1, 12))
    after = [find_procedure(each.reference) for each in before]
    assert [each.digest for each in after] == [each.digest for each in before]
    assert find_procedure("report").version == 11


@pytest.mark.usefixtures("where")
def test_versions_that_are_there_with_the_same_content_are_passed_over(
    other_versions: Path,
) -> None:
    files = sorted(other_versions.iterdir())
    assert import_procedures(files[:2]) == ("report@1", "report@2")
    assert import_procedures(files) == ("report@3",)
    digest = hashlib.sha256(files[0].read_bytes()).hexdigest()[:12]
    assert find_procedure("report@1").digest == digest


@pytest.mark.usefixtures("where")
def test_an_older_version_that_is_imported_changes_nothing_of_which_is_current(
    other_versions: Path,
) -> None:
    first, second, third = sorted(other_versions.iterdir())
    import_procedures([second, third])
    make_current("report@2")
    import_procedures([first])
    assert find_procedure("report").version == 2


@pytest.mark.usefixtures("where")
def test_a_number_that_is_there_with_other_content_is_named_with_both_and_nothing_is_stored(
    other_versions: Path,
) -> None:
    place = save_procedure(procedure("mine")).place
    with pytest.raises(InputError) as refused:
        import_procedures(sorted(other_versions.iterdir(), reverse=True))
    both = f"{place} and {other_versions / 'report@1.yaml'} are the same version"
    assert both in refused.value.problem
    assert versions_of("report") == (1,)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("report.yaml", "is not that of a version"),
        ("report@0.yaml", "is not that of a version"),
        ("monthly@1.yaml", "has the name report, and not monthly"),
    ],
)
def test_a_file_whose_name_is_not_its_version_is_refused(
    other_versions: Path, name: str, problem: str
) -> None:
    wrong = (other_versions / "report@1.yaml").rename(other_versions / name)
    with pytest.raises(InputError, match=problem):
        import_procedures([wrong])


def test_an_export_writes_over_no_file_that_has_other_content(tmp_path: Path) -> None:
    save_procedure(procedure("one"))
    export_procedures(tmp_path)
    export_procedures(tmp_path)
    (tmp_path / "report@1.yaml").write_text("mine", "utf-8")
    with pytest.raises(InputError, match=r"report@1\.yaml are the same version"):
        export_procedures(tmp_path)
    assert (tmp_path / "report@1.yaml").read_text("utf-8") == "mine"
