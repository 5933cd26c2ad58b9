"""The files of a machine that the sandbox shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.errors import SandboxError
from prefect_swarm.gates.sandbox.confinement import collect_visible_files, filter_for


def _prefix(folder: Path) -> Path:
    for name in ("bin", "lib", "src"):
        (folder / name).mkdir(parents=True)
    (folder / "lib64").symlink_to("lib")
    return folder


def test_of_an_interpreter_only_what_it_needs_is_shown(tmp_path: Path) -> None:
    prefix = _prefix(tmp_path / "venv")
    shown = collect_visible_files([prefix], tmp_path / "project")
    own = [target for _, target in shown.binds if target.startswith(str(tmp_path))]
    assert own == [f"{prefix}/bin", f"{prefix}/lib"]
    assert ("lib", f"{prefix}/lib64") in shown.symlinks


def test_a_prefix_behind_a_link_is_shown_under_both_names(tmp_path: Path) -> None:
    prefix = _prefix(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    shown = collect_visible_files([tmp_path / "link"], tmp_path / "project")
    assert (f"{prefix}/lib", f"{tmp_path}/link/lib") in shown.binds
    assert (f"{prefix}/lib", f"{prefix}/lib") in shown.binds


def test_the_package_is_masked_where_it_is_installed(tmp_path: Path) -> None:
    prefix = _prefix(tmp_path / "venv")
    package = prefix / "lib" / "site-packages" / "prefect_swarm"
    assert collect_visible_files([prefix], package).masks == [str(package)]
    weights = prefix / "lib" / "site-packages" / "weights"
    assert collect_visible_files([prefix], package, weights).masks == [str(package), str(weights)]
    assert collect_visible_files([prefix], tmp_path / "project").masks == []


def test_nothing_of_the_machine_is_shown_but_its_programs(tmp_path: Path) -> None:
    allowed = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc"}
    shown = collect_visible_files([], tmp_path)
    assert {target.split("/")[1] for _, target in shown.binds} <= allowed
    assert [target for _, target in shown.binds if target.startswith("/etc")] in (
        ["/etc/ld.so.cache"],
        [],
    )


def test_what_would_lie_in_the_sandboxs_own_folders_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="Move the virtual environment"):
        collect_visible_files([Path("/proc/self/root") / "usr"], tmp_path)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_whole_instructions_that_end_in_a_return(machine: str) -> None:
    code = filter_for(machine)
    assert len(code) % 8 == 0
    assert len(code) // 8 < 4096
    assert code[-8:-4] == b"\x06\x00\x00\x00"


def test_a_machine_with_unknown_numbers_has_no_filter() -> None:
    assert filter_for("riscv64") == b""
