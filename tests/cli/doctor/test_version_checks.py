"""The doctor says which versions don't fit the package, or each other."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from prefect_swarm.cli.doctor.prefect_checks import (
    check_server_version,
    check_versions,
    misfits,
    unfit_pairs,
)

HAS = {"prefect": "3.8.8", "sqlalchemy": "2.1.9", "torch": "2.1"}


def test_what_is_installed_here_fits() -> None:
    assert [check.status for check in check_versions()] == ["ok"]


def test_a_version_out_of_bounds_fails_with_the_command_that_mends_it() -> None:
    (check,) = misfits("ours", ["prefect>=3.9.1,<4", "sqlalchemy>=2"], [], HAS.get)
    assert (check.name, check.status) == ("prefect", "fail")
    assert check.detail == "3.8.8; ours needs prefect<4,>=3.9.1"
    assert check.fix == "Run: pip install 'prefect<4,>=3.9.1'"


def test_what_is_missing_fails() -> None:
    (check,) = misfits("ours", ["kuzu==0.11.3"], [], HAS.get)
    assert (check.status, check.detail) == ("fail", "not installed; ours needs kuzu==0.11.3")


def test_what_only_an_extra_asks_for_may_be_missing_and_warns_if_it_is_old() -> None:
    required = ["torch>=2.13; extra == 'train'", "gguf>=1; extra == 'train'"]
    (check,) = misfits("ours", required, ["train"], HAS.get)
    assert (check.name, check.status) == ("torch", "warn")


def test_what_another_system_needs_is_no_matter() -> None:
    assert misfits("ours", ["pywin32>=1; sys_platform == 'win32'"], [], HAS.get) == []


def test_versions_that_are_known_not_to_work_together_fail() -> None:
    (check,) = unfit_pairs(HAS.get)
    assert (check.name, check.status) == ("prefect", "fail")
    assert "3.8.8 with sqlalchemy 2.1.9" in check.detail
    assert "starts no run by a schedule" in check.detail


@pytest.mark.parametrize("has", [{"prefect": "3.8.8", "sqlalchemy": "2.0.58"}, {}])
def test_a_pair_that_works_is_not_named(has: dict[str, str]) -> None:
    assert unfit_pairs(has.get) == []


def test_an_older_server_than_the_package_is_tried_with_is_warned_of() -> None:
    (check,) = check_server_version("3.8.8")
    assert (check.status, check.detail[:6]) == ("warn", "3.8.8;")
    (fits,) = check_server_version(version("prefect"))
    assert fits.status == "ok"
