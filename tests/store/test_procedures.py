"""Versions of procedures are numbered, never changed, and found by name."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.plan.procedure import Procedure
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store.procedures import (
    find_procedure,
    list_procedures,
    make_current,
    remove_procedure,
    save_procedure,
    versions_of,
)

pytestmark = pytest.mark.usefixtures("swarm_home")


def procedure(purpose: str, name: str = "report") -> Procedure:
    data: dict[str, Any] = {
        "objective": "Report",
        "agents": [{"name": "Clerk", "system_prompt": "You report."}],
        "steps": [{"id": "S1", "agent": "Clerk", "prompt": "Report."}],
    }
    return Procedure(name=name, purpose=purpose, plan=parse_plan(data))


def test_each_change_is_a_version_and_the_newest_is_current() -> None:
    first = save_procedure(procedure("one"))
    second = save_procedure(procedure("two"))
    assert (first.reference, second.reference) == ("report@1", "report@2")
    assert find_procedure("report").procedure.purpose == "two"
    assert find_procedure("report@1").procedure.purpose == "one"
    assert first.digest != second.digest


def test_the_same_text_is_no_second_version() -> None:
    save_procedure(procedure("one"))
    assert save_procedure(procedure("one")).reference == "report@1"
    assert versions_of("report") == (1,)


def test_an_earlier_version_becomes_current_until_another_is_saved() -> None:
    save_procedure(procedure("one"))
    save_procedure(procedure("two"))
    assert make_current("report@1").is_current
    assert find_procedure("report").version == 1
    assert not find_procedure("report@2").is_current
    # It is current no more, so its text is a version of its own again.
    assert save_procedure(procedure("two")).reference == "report@3"
    assert find_procedure("report").version == 3


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


def test_they_are_listed_by_name_and_removed() -> None:
    for name in ("b", "a"):
        save_procedure(procedure("x", name))
    assert [each.reference for each in list_procedures()] == ["a@1", "b@1"]
    assert remove_procedure("a") == (1,)
    assert [each.reference for each in list_procedures()] == ["b@1"]


def test_a_single_version_is_not_removed_and_neither_are_the_others() -> None:
    save_procedure(procedure("one"))
    save_procedure(procedure("two"))
    with pytest.raises(InputError, match=r"report@1 is one version"):
        remove_procedure("report@1")
    assert versions_of("report") == (1, 2)


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
    path = save_procedure(procedure("one")).path
    assert path.is_relative_to(swarm_home)
    path.write_text(path.read_text("utf-8").replace("name: report", "name: other"), "utf-8")
    with pytest.raises(InputError, match="has the name other"):
        find_procedure("report")
    path.write_text("steps: 1", "utf-8")
    with pytest.raises(InputError, match=r"1\.yaml is no procedure"):
        find_procedure("report")
