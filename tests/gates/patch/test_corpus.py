"""The project of the corpus behaves as it says, and its edits are judged as they should be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from patch_corpus import RIGHT, WRONG, Edit, changed_files
from patch_project import BASE, FAILING, write_base
from prefect_swarm.gates.base import Diagnostic
from prefect_swarm.gates.patch.kept_tests import weakened_tests
from prefect_swarm.gates.patch.secrets import secrets_in

BEFORE = {path: text.encode() if isinstance(text, str) else text for path, text in BASE.items()}


def kept(edit: Edit) -> tuple[Diagnostic, ...]:
    return weakened_tests(BEFORE, changed_files(edit), edit.may_change)


def secrets(edit: Edit) -> tuple[Diagnostic, ...]:
    return secrets_in(
        {
            path: [*enumerate((data or b"").decode("latin-1").splitlines(), start=1)]
            for path, data in changed_files(edit).items()
        }
    )


def test_one_test_of_the_project_fails(tmp_path: Path) -> None:
    write_base(tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert failed == [FAILING], done.stdout + done.stderr


@pytest.mark.parametrize("name", [name for name, edit in WRONG.items() if "kept" in edit.refused])
def test_an_edit_that_weakens_tests_is_refused(name: str) -> None:
    assert kept(WRONG[name])


@pytest.mark.parametrize(
    "name", [name for name, edit in WRONG.items() if "secrets" in edit.refused]
)
def test_an_edit_with_a_secret_is_refused(name: str) -> None:
    assert secrets(WRONG[name])


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_edit_is_not_refused(name: str) -> None:
    assert (kept(RIGHT[name]), secrets(RIGHT[name])) == ((), ())


def test_other_wrong_edits_are_for_other_gates() -> None:
    others = [edit for edit in WRONG.values() if not {"kept", "secrets"} & {*edit.refused}]
    assert [found for edit in others for found in (*kept(edit), *secrets(edit))] == []


def test_there_are_as_many_as_were_asked_for() -> None:
    assert len(WRONG) >= 24
    assert len(RIGHT) >= 16
